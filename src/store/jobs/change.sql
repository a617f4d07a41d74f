-- An owner changes what was asked, before the claim: null leaves a value as it is. The caller holds
-- the lock of the job's `live` row.
UPDATE jobs
   SET due_at = coalesce($4, due_at), priority = coalesce($5, priority), spec = coalesce($6, spec),
       payload = coalesce($7, payload), version = version + 1
 WHERE shard = $1 AND job_id = $2 AND team = $3
