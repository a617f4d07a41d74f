-- The view that shows what was counted.
CREATE EXTENSION pg_stat_statements
