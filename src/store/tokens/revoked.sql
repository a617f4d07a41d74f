-- Revocations after a version, in their order.
SELECT team, jti, expires_at, version FROM revoked_tokens WHERE version > $1 ORDER BY version LIMIT $2
