-- Forgets invitations that have ended, at most $2 at a time.
DELETE FROM invitations
 WHERE hash = ANY(ARRAY(SELECT hash FROM invitations WHERE expires_at < $1 LIMIT $2))
