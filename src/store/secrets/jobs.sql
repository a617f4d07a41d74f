-- Jobs of one shard after $2 whose definition holds sealed headers.
SELECT job_id AS id, team, spec AS document
  FROM jobs
 WHERE shard = $1 AND job_id > $2 AND strpos(spec::text, '"secret_headers"') > 0
 ORDER BY job_id
 LIMIT 200
