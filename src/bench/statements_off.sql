-- Counts nothing.
ALTER SYSTEM SET pg_stat_statements.track = 'none'
