-- How a run ended.
SELECT state FROM runs WHERE shard = $1 AND job_id = $2 AND fence = $3
