-- A session, locked.
SELECT session_id, user_id, team, hash, epoch, expires_at
  FROM sessions
 WHERE session_id = $1
   FOR UPDATE
