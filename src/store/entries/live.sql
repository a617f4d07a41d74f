-- register → PENDING or, for a schedule's job that waits for its turn, WAITING; for a batch of one
-- shard. A row whose unique key an unfinished job of the team already has is left out and does not
-- come back.
INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, start_deadline, unique_key,
                  schedule_id, updated_at)
SELECT s.shard, u.*
  FROM shards s,
       unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::timestamptz[],
              $8::timestamptz[], $9::text[], $10::uuid[], $11::timestamptz[]) u
 WHERE s.shard = $1
    ON CONFLICT (shard, team, unique_key) WHERE unique_key IS NOT NULL DO NOTHING
RETURNING job_id
