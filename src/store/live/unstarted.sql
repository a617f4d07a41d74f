-- Locks jobs of one shard whose start deadline passed before a run.
SELECT job_id, team, state, attempt, failures, lost, fence, puller, claimed_at, sent_at, accepted_at,
       heartbeat_at, deadline_at, http_status, progress, schedule_id
  FROM live
 WHERE shard = $1 AND state IN ('PENDING', 'RETRY_WAIT') AND start_deadline <= $2
 ORDER BY start_deadline
 LIMIT $3
   FOR UPDATE SKIP LOCKED
