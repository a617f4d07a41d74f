-- Describes a team for the first time; nothing if it was described before.
INSERT INTO teams (team, name, settings, created_at, updated_at)
VALUES ($1, $2, $3, $4, $4)
    ON CONFLICT (team) DO NOTHING
RETURNING team, name, suspended_at, suspend_reason, settings, version, created_at
