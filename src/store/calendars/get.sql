-- Some calendars of a team.
SELECT name, days, version, updated_at FROM calendars WHERE team = $1 AND name = ANY($2::text[])
