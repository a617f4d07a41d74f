-- How much has been written to the write-ahead log since the cluster was made.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8
