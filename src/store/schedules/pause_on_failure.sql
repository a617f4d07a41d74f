-- Pauses active schedules of which a job was given up, where they say so.
UPDATE schedules c
   SET state = 'PAUSED', reason = u.reason, next_slot_at = NULL, next_fire_at = NULL, updated_at = $4
  FROM unnest($2::uuid[], $3::text[]) AS u(schedule_id, reason)
 WHERE c.shard = $1 AND c.schedule_id = u.schedule_id AND c.state = 'ACTIVE'
   AND (c.plan ->> 'pause_on_failure')::boolean
