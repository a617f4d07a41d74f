-- Stores a job's definition with its headers sealed anew, unless it has changed meanwhile.
UPDATE jobs SET spec = $4
 WHERE shard = $1 AND job_id = $2 AND spec::text = $3
RETURNING job_id
