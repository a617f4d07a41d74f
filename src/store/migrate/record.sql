-- Records a migration in the transaction that applied it.
INSERT INTO schema_migrations (version, name, checksum, app_version, applied_at)
VALUES ($1, $2, $3, $4, transaction_timestamp())
