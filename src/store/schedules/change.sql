-- Changes a schedule that the caller has locked.
UPDATE schedules
   SET plan = $3, payload = $4, state = $5, reason = $6, accounted_until = $7, next_slot_at = $8,
       next_fire_at = $9, version = version + 1, updated_at = $10
 WHERE shard = $1 AND schedule_id = $2
