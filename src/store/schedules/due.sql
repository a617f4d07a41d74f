-- Locks due schedules of one shard (or one of them), for the one who fires them; others take others.
SELECT schedule_id, team, name, plan, payload, state, reason, accounted_until, next_slot_at,
       next_fire_at, fires, last_fire_at, version, created_at, updated_at
  FROM schedules
 WHERE shard = $1 AND state = 'ACTIVE' AND next_slot_at <= $2
   AND ($4::uuid IS NULL OR schedule_id = $4)
 ORDER BY next_slot_at
 LIMIT $3
   FOR UPDATE SKIP LOCKED
