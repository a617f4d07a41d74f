-- A new schedule; nothing comes back if the team has one of that name.
INSERT INTO schedules (shard, schedule_id, team, name, plan, payload, state, reason,
                       accounted_until, next_slot_at, next_fire_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
    ON CONFLICT (shard, team, name) DO NOTHING
RETURNING schedule_id
