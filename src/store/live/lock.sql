-- Locks jobs of one shard in id order, so that no two transactions wait for each other, and reads
-- where they stand. What follows in the transaction is decided on these rows.
SELECT job_id, team, state, attempt, failures, lost, fence, puller, claimed_at, sent_at, accepted_at,
       heartbeat_at, deadline_at, http_status, progress, schedule_id
  FROM live
 WHERE shard = $1 AND job_id = ANY($2::uuid[])
 ORDER BY job_id
   FOR UPDATE
