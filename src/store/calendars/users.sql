-- Schedules of a team that exclude the days of a calendar: read when somebody changes the calendar.
SELECT schedule_id, name
  FROM schedules
 WHERE team = $1 AND (plan -> 'exclude')::jsonb ? $2
 ORDER BY schedule_id
