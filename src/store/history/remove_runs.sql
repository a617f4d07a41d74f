-- The runs of jobs that are kept no longer. Their smallest and largest id say which part they lie in: an array
-- alone would have every part looked up.
DELETE FROM runs
 WHERE shard = $1 AND job_id = ANY($2::uuid[]) AND job_id >= $3 AND job_id <= $4
