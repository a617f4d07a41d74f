-- The calendars of a team.
SELECT name, days, version, updated_at FROM calendars WHERE team = $1 ORDER BY name LIMIT $2
