-- The run that a job is having, read off its `live` row.
SELECT job_id, team, state, attempt, failures, lost, fence, puller, claimed_at, sent_at, accepted_at,
       heartbeat_at, deadline_at, http_status, progress, schedule_id
  FROM live
 WHERE shard = $1 AND job_id = $2 AND team = $3 AND state = 'RUNNING'
