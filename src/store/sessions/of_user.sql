-- The sessions of a person, in one team if it is given, locked.
SELECT session_id, user_id, team, hash, epoch, expires_at
  FROM sessions
 WHERE user_id = $1 AND ($2::text IS NULL OR team = $2)
 ORDER BY session_id
   FOR UPDATE
