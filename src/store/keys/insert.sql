-- A new key; nothing if its public part is taken already.
INSERT INTO keys (key_id, team, name, role, hash, expires_at, created_by, created_at, queues)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (key_id) DO NOTHING
RETURNING key_id
