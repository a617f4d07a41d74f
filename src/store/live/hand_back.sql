-- hand_back: RUNNING → PENDING or RETRY_WAIT, as before the claim; no attempt is charged. The fence
-- stays grown: the run that was handed back can never be mistaken for a later one. A job whose target
-- cannot be called now comes due later, and says why; the others keep their due time.
UPDATE live l
   SET state = CASE WHEN l.attempt = 1 AND l.failures = 0 THEN 'PENDING' ELSE 'RETRY_WAIT' END,
       attempt = l.attempt - 1, updated_at = $4, lease_until = NULL, puller = NULL,
       due_at = coalesce(u.due_at, l.due_at), deferred = u.deferred,
       claimed_at = NULL, sent_at = NULL
  FROM unnest($2::uuid[], $3::int[], $5::timestamptz[], $6::text[])
           AS u(job_id, fence, due_at, deferred)
 WHERE l.shard = $1 AND l.job_id = u.job_id AND l.fence = u.fence AND l.state = 'RUNNING'
   AND l.accepted_at IS NULL
