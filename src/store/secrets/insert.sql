-- Adds a signing secret, unless its team and queue have a current one.
INSERT INTO signing_secrets (team, secret_id, queue, sealed, mask, created_by, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (team, queue) WHERE expires_at IS NULL DO NOTHING
RETURNING secret_id
