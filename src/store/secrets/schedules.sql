-- Schedules of one shard after $2 whose job holds sealed headers.
SELECT schedule_id AS id, team, plan AS document
  FROM schedules
 WHERE shard = $1 AND schedule_id > $2 AND strpos(plan::text, '"secret_headers"') > 0
 ORDER BY schedule_id
 LIMIT 200
