-- retry: RUNNING → RETRY_WAIT, with the counters that the verdict left.
UPDATE live l
   SET state = 'RETRY_WAIT', due_at = u.due_at, attempt = u.attempt, failures = u.failures,
       lost = u.lost, updated_at = $4, lease_until = NULL, puller = NULL, claimed_at = NULL,
       sent_at = NULL, accepted_at = NULL, heartbeat_at = NULL, deadline_at = NULL
  FROM unnest($2::uuid[], $3::int[], $5::timestamptz[], $6::int[], $7::int[], $8::int[])
           AS u(job_id, fence, due_at, attempt, failures, lost)
 WHERE l.shard = $1 AND l.job_id = u.job_id AND l.fence = u.fence AND l.state = 'RUNNING'
