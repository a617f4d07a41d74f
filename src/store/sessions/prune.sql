-- Forgets sessions that have ended, at most $2 at a time.
DELETE FROM sessions
 WHERE session_id = ANY(ARRAY(SELECT session_id FROM sessions WHERE expires_at < $1 LIMIT $2))
