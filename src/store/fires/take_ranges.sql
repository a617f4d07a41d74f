-- Takes out rows that tell several fires at once and touch [$3, $4).
DELETE FROM fires
 WHERE shard = $1 AND schedule_id = $2 AND until IS NOT NULL AND until >= $3 AND fire_at < $4
   AND outcome <> 'skipped_calendar'
RETURNING fire_at, outcome, origin, until, count, at_least, job_id, recorded_at
