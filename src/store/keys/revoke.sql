-- Ends a key for good.
UPDATE keys SET revoked_at = $3 WHERE team = $1 AND key_id = $2 AND revoked_at IS NULL
