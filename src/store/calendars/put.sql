-- Creates or replaces a calendar; the version grows only if its days change.
INSERT INTO calendars (team, name, days, updated_at)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (team, name)
    DO UPDATE SET days = excluded.days,
                  version = calendars.version
                            + (calendars.days::text IS DISTINCT FROM excluded.days::text)::int,
                  updated_at = CASE WHEN calendars.days::text IS DISTINCT FROM excluded.days::text
                                    THEN excluded.updated_at ELSE calendars.updated_at END
RETURNING name, days, version, updated_at
