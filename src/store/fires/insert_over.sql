-- A row for each fire time of one shard, in the place of one that has made no job; where one has made
-- a job that row stays, and does not come back.
INSERT INTO fires (shard, schedule_id, fire_at, outcome, origin, until, count, at_least, job_id,
                   recorded_at)
SELECT s.shard, u.*, $10
  FROM shards s,
       unnest($2::uuid[], $3::timestamptz[], $4::text[], $5::text[], $6::timestamptz[], $7::int[],
              $8::boolean[], $9::uuid[]) u
 WHERE s.shard = $1
    ON CONFLICT (shard, schedule_id, fire_at)
    DO UPDATE SET outcome = excluded.outcome, origin = excluded.origin, until = excluded.until,
                  count = excluded.count, at_least = excluded.at_least, job_id = excluded.job_id,
                  recorded_at = excluded.recorded_at
            WHERE fires.job_id IS NULL
RETURNING schedule_id, fire_at
