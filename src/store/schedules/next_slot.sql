-- When one shard next has a slot to see to.
SELECT next_slot_at
  FROM schedules
 WHERE shard = $1 AND state = 'ACTIVE'
 ORDER BY next_slot_at
 LIMIT 1
