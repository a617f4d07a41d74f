-- How the newest ended run of a job went: what a target reads as Axle-Previous-*.
SELECT http_status, error_class, error_message
  FROM runs
 WHERE shard = $1 AND job_id = $2
 ORDER BY fence DESC
 LIMIT 1
