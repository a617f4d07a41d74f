-- Where a job stands.
SELECT state FROM standing WHERE shard = $1 AND job_id = $2
