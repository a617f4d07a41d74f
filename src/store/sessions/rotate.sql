-- The newest refresh token of a session.
UPDATE sessions SET hash = $2, expires_at = $3 WHERE session_id = $1
