-- Takes keys of one shard together with their answers, which nobody sees before the commit: comes back
-- with those that were free or had expired. A request with one of them waits elsewhere, or here, until
-- the first of both has committed; in order of their scopes, so that no two wait in a ring.
INSERT INTO idempotency (shard, scope, fingerprint, expires_at, status, location, deduplicated, body)
SELECT s.shard, u.*
  FROM shards s,
       unnest($2::bytea[], $3::bytea[], $4::timestamptz[], $5::smallint[], $6::text[],
              $7::boolean[], $8::bytea[])
           AS u(scope, fingerprint, expires_at, status, location, deduplicated, body)
 WHERE s.shard = $1
 ORDER BY u.scope
    ON CONFLICT (shard, scope)
    DO UPDATE SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at,
                  status = excluded.status, location = excluded.location,
                  deduplicated = excluded.deduplicated, body = excluded.body
              WHERE idempotency.expires_at <= $9
RETURNING scope
