-- A calendar of a team, locked.
SELECT name, days, version, updated_at FROM calendars WHERE team = $1 AND name = $2 FOR NO KEY UPDATE
