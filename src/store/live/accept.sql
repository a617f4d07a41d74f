-- The target has accepted these runs: from now on their lease is the target's, not the puller's.
UPDATE live l
   SET accepted_at = $4, updated_at = $4, sent_at = u.sent_at, http_status = u.http_status,
       deadline_at = u.deadline_at, lease_until = u.lease_until
  FROM unnest($2::uuid[], $3::int[], $5::timestamptz[], $6::int[], $7::timestamptz[],
              $8::timestamptz[]) AS u(job_id, fence, sent_at, http_status, deadline_at, lease_until)
 WHERE l.shard = $1 AND l.job_id = u.job_id AND l.fence = u.fence
   AND l.state = 'RUNNING' AND l.accepted_at IS NULL
