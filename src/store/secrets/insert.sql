-- Adds a signing secret, unless its team and queue have a current one of the kind.
INSERT INTO signing_secrets (team, secret_id, queue, kind, sealed, public_key, mask, created_by,
                             created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (team, queue, kind) WHERE expires_at IS NULL DO NOTHING
RETURNING secret_id
