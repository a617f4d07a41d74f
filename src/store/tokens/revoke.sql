-- Refuses a token until $3, or longer if that was said before.
INSERT INTO revoked_tokens (team, jti, expires_at, version)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (team, jti)
    DO UPDATE SET expires_at = greatest(revoked_tokens.expires_at, excluded.expires_at),
                  version = excluded.version
