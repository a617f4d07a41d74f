-- What became of the fire times of a schedule, newest first, in [$3, $4).
SELECT fire_at, outcome, origin, until, count, at_least, job_id, recorded_at
  FROM fires
 WHERE shard = $1 AND schedule_id = $2 AND fire_at >= $3 AND fire_at < $4
 ORDER BY fire_at DESC
 LIMIT $5
