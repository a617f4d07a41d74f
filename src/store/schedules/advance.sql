-- Moves schedules of one shard on, from the slots just handled. The caller holds their locks.
UPDATE schedules c
   SET accounted_until = u.accounted_until, next_slot_at = u.next_slot_at,
       next_fire_at = u.next_fire_at, last_fire_at = u.last_fire_at, fires = u.fires,
       state = u.state, reason = u.reason, updated_at = $10
  FROM unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::timestamptz[],
              $6::timestamptz[], $7::int[], $8::text[], $9::text[])
           AS u(schedule_id, accounted_until, next_slot_at, next_fire_at, last_fire_at, fires, state,
                reason)
 WHERE c.shard = $1 AND c.schedule_id = u.schedule_id
