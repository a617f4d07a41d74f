-- Creates or replaces a calendar.
INSERT INTO calendars (team, name, days, updated_at)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (team, name)
    DO UPDATE SET days = excluded.days, version = calendars.version + 1,
                  updated_at = excluded.updated_at
RETURNING name, days, version, updated_at
