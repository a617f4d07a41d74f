-- cancel: WAITING, PENDING, RETRY_WAIT, RUNNING → CANCELLED. The row leaves `live`; the same
-- transaction writes it to `done`.
DELETE FROM live
 WHERE shard = $1 AND job_id = $2 AND state IN ('WAITING', 'PENDING', 'RETRY_WAIT', 'RUNNING')
