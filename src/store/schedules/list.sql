-- A page of a team's schedules, newest first. $2 bounds the ids, exclusive above; $3 states; $4 a
-- part of the name, null for any; $5 rows; $6 queues, null for all.
SELECT schedule_id, team, name, plan, payload, state, reason, accounted_until, next_slot_at,
       next_fire_at, fires, last_fire_at, version, created_at, updated_at
  FROM schedules
 WHERE team = $1 AND schedule_id < $2 AND state = ANY($3::text[])
   AND ($4::text IS NULL OR position($4 IN name) > 0)
   AND ($6::text[] IS NULL OR plan -> 'job' ->> 'queue' = ANY($6))
 ORDER BY schedule_id DESC
 LIMIT $5
