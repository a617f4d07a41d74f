-- A page of a team's keys, newest first, those before the place ($2, $3) if one is given.
SELECT key_id, team, name, role, expires_at, created_by, created_at, last_used_at, revoked_at,
       queues
  FROM keys
 WHERE team = $1 AND ($2::timestamptz IS NULL OR (created_at, key_id) < ($2, $3::text))
 ORDER BY created_at DESC, key_id DESC
 LIMIT $4
