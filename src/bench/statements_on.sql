-- Counts what clients send.
ALTER SYSTEM SET pg_stat_statements.track = 'top'
