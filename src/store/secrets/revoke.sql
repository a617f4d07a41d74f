-- Ends a secret at $3, unless it has ended before.
UPDATE signing_secrets SET expires_at = $3
 WHERE team = $1 AND secret_id = $2 AND (expires_at IS NULL OR expires_at > $3)
RETURNING secret_id
