-- A new person; nothing if somebody has the e-mail address.
INSERT INTO users (user_id, email, name, password, installation_admin, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
    ON CONFLICT DO NOTHING
RETURNING user_id
