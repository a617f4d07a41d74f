-- A session is over.
DELETE FROM sessions WHERE session_id = $1
