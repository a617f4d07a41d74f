-- Schedules that are not due for years, as copies of one that is there.
INSERT INTO schedules (shard, schedule_id, team, name, plan, payload, state, accounted_until,
                       next_slot_at, next_fire_at, created_at, updated_at)
SELECT s.shard, md5($1 || n::text || '/' || s.shard::text)::uuid, one.team, $1 || '/' || n::text, one.plan,
       one.payload, 'ACTIVE', one.created_at, $3, $3, one.created_at, one.created_at
  FROM (SELECT * FROM schedules LIMIT 1) one, shards s,
       generate_series(1, $2 / (SELECT count(*) FROM shards)) n
