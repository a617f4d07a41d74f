-- A new member; nothing if the person is one.
INSERT INTO members (team, user_id, role, joined_at)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (team, user_id) DO NOTHING
RETURNING user_id
