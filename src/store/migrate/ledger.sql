-- The ledger of migrations; made before the first of them.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version     int         PRIMARY KEY,
    name        text        NOT NULL,
    checksum    bytea       NOT NULL,
    app_version text        NOT NULL,
    applied_at  timestamptz NOT NULL
)
