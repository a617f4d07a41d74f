-- Keeps the answer beside the work that made it.
UPDATE idempotency
   SET status = $3, location = $4, deduplicated = $5, body = $6
 WHERE shard = $1 AND scope = $2
