-- Forgets keys past their lifetime.
DELETE FROM idempotency
 WHERE shard = $1 AND scope = ANY(ARRAY(
        SELECT i.scope
          FROM idempotency i
         WHERE i.shard = $1 AND i.expires_at <= $2
         ORDER BY i.expires_at
         LIMIT $3
           FOR UPDATE SKIP LOCKED))
