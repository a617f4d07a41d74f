-- The queues that the sweep has to do with: paused ones, and resumed ones that may still have jobs
-- set aside; those first, since the sweep is done with them when it has been there.
SELECT team, name, paused FROM queues WHERE paused OR holds ORDER BY paused, team, name LIMIT 1000
