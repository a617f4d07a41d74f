-- Fails where the module is not installed.
LOAD 'pg_stat_statements'
