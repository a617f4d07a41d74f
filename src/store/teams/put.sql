-- Describes or changes a team. Suspended since $4, for $5, or not at all.
INSERT INTO teams (team, name, settings, suspended_at, suspend_reason, holds, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $4::timestamptz IS NOT NULL, $6, $6)
    ON CONFLICT (team)
    DO UPDATE SET name = excluded.name, settings = excluded.settings,
                  suspended_at = excluded.suspended_at, suspend_reason = excluded.suspend_reason,
                  holds = teams.holds OR excluded.holds,
                  version = teams.version + 1, updated_at = excluded.updated_at
RETURNING team, name, suspended_at, suspend_reason, settings, version, created_at
