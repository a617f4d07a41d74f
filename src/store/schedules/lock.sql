-- Locks one schedule by name or id: who changes it, triggers it or fires it does so one after
-- another, which is what makes overlap policies hold.
SELECT schedule_id, team, name, plan, payload, state, reason, accounted_until, next_slot_at,
       next_fire_at, fires, last_fire_at, version, created_at, updated_at
  FROM schedules
 WHERE shard = $1 AND team = $2 AND (name = $3 OR schedule_id = $4)
   FOR UPDATE
