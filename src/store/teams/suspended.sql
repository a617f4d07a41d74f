-- The teams that are suspended, and why.
SELECT team, suspend_reason FROM teams WHERE suspended_at IS NOT NULL
