-- The teams whose suspension was lifted and that may still have jobs set aside.
SELECT team FROM teams WHERE holds AND suspended_at IS NULL ORDER BY team LIMIT 1000
