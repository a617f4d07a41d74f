-- Due schedules of one shard, oldest first.
SELECT schedule_id
  FROM schedules
 WHERE shard = $1 AND state = 'ACTIVE' AND next_slot_at <= $2
 ORDER BY next_slot_at
 LIMIT $3
