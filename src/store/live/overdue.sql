-- Locks running jobs of one shard that were silent past their lease; rows that somebody else is
-- settling are left to them.
SELECT job_id, team, state, attempt, failures, lost, fence, puller, claimed_at, sent_at, accepted_at,
       heartbeat_at, deadline_at, http_status, progress, schedule_id
  FROM live
 WHERE shard = $1 AND state = 'RUNNING' AND lease_until <= $2
 ORDER BY lease_until
 LIMIT $3
   FOR UPDATE SKIP LOCKED
