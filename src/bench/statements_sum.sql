-- All statements that were counted, BEGIN and COMMIT among them.
SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements
