-- Gives keys back that this very transaction has taken.
DELETE FROM idempotency
 WHERE shard = $1 AND scope = ANY($2)
