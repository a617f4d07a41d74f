-- A row for each fire time of one shard; one that is there already stays, and does not come back.
INSERT INTO fires (shard, schedule_id, fire_at, outcome, origin, until, count, at_least, job_id,
                   recorded_at)
SELECT s.shard, u.*, $10
  FROM shards s,
       unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::timestamptz[], $7::int[],
              $8::boolean[], $9::uuid[]) u
 WHERE s.shard = $1
    ON CONFLICT (shard, schedule_id, fire_at) DO NOTHING
RETURNING schedule_id, fire_at
