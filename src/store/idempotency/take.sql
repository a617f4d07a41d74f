-- Takes a key for this transaction: comes back with a row if it was free or had expired. A second
-- request with the same key waits here until the first has committed.
INSERT INTO idempotency (shard, scope, fingerprint, expires_at)
VALUES ($1, $2, $3, $5)
    ON CONFLICT (shard, scope)
    DO UPDATE SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at
              WHERE idempotency.expires_at <= $4
RETURNING true AS taken
