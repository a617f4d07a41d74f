-- Transactions of this database that have ended.
SELECT (xact_commit + xact_rollback)::float8 FROM pg_stat_database WHERE datname = current_database()
