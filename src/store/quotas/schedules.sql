-- A team's schedules.
SELECT count(*) AS used FROM schedules WHERE team = $1
