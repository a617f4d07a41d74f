-- Forgets revocations of tokens that have ended by themselves, at most $2 at a time.
DELETE FROM revoked_tokens
 WHERE ctid = ANY(ARRAY(SELECT ctid FROM revoked_tokens WHERE expires_at < $1 LIMIT $2))
