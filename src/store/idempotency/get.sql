-- The answer that was kept under a key.
SELECT fingerprint, status, location, deduplicated, body
  FROM idempotency
 WHERE shard = $1 AND scope = $2
