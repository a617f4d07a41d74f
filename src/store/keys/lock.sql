-- A key of a team, locked.
SELECT key_id, team, name, role, expires_at, created_by, created_at, last_used_at, revoked_at,
       queues
  FROM keys
 WHERE team = $1 AND key_id = $2
   FOR NO KEY UPDATE
