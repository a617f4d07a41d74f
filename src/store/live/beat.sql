-- A target's sign of life, with or without a report of its progress.
UPDATE live
   SET heartbeat_at = $4, lease_until = $5, progress = coalesce($6, progress)
 WHERE shard = $1 AND job_id = $2 AND fence = $3 AND state = 'RUNNING'
