-- The ended runs of a job, newest first; $4 bounds the fence, exclusive above.
SELECT r.*
  FROM runs r
  JOIN jobs j ON j.shard = r.shard AND j.job_id = r.job_id
 WHERE r.shard = $1 AND r.job_id = $2 AND j.team = $3 AND r.fence < $4
 ORDER BY r.fence DESC
 LIMIT $5
