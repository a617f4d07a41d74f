-- A schedule that cannot be worked out: it is shown with the reason, and stops no other.
UPDATE schedules
   SET state = 'ERROR', reason = $3, next_slot_at = NULL, next_fire_at = NULL, updated_at = $4
 WHERE shard = $1 AND schedule_id = $2 AND state = 'ACTIVE'
