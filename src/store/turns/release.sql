-- release: WAITING → PENDING.
UPDATE live SET state = 'PENDING', updated_at = $3
 WHERE shard = $1 AND job_id = $2 AND state = 'WAITING'
RETURNING due_at
