-- expire: PENDING, RETRY_WAIT → FAILED, because the start deadline passed. The row leaves `live`;
-- the same transaction writes it to `done`.
DELETE FROM live
 WHERE shard = $1 AND job_id = ANY($2::uuid[]) AND state IN ('PENDING', 'RETRY_WAIT')
   AND start_deadline <= $3
