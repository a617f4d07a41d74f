-- The key that a caller shows, whoever's it is.
SELECT key_id, team, name, role, hash, expires_at, created_by, created_at, last_used_at, revoked_at,
       queues
  FROM keys
 WHERE key_id = $1
