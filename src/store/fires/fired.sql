-- Which fire times of a schedule in [$3, $4) have made a job.
SELECT fire_at
  FROM fires
 WHERE shard = $1 AND schedule_id = $2 AND fire_at >= $3 AND fire_at < $4 AND job_id IS NOT NULL
