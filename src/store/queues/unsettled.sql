-- The queues that the sweep has to do with: paused ones, and resumed ones that may still have jobs
-- set aside.
SELECT team, name, paused FROM queues WHERE paused OR holds ORDER BY team, name
