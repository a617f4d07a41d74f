-- A new session.
INSERT INTO sessions (session_id, user_id, team, hash, epoch, created_at, expires_at)
VALUES ($1, $2, $3, $4, 1, $5, $6)
