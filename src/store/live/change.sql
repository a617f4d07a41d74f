-- An owner moves a job that is not claimed: null leaves a value as it is.
UPDATE live
   SET due_at = coalesce($3, due_at), priority = coalesce($4, priority), updated_at = $5
 WHERE shard = $1 AND job_id = $2 AND state IN ('WAITING', 'PENDING', 'RETRY_WAIT')
