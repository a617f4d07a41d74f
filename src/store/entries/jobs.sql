-- Keeps what was asked, for a batch of one shard. The row of `shards` anchors the statement to it.
INSERT INTO jobs (shard, job_id, team, queue, name, spec, payload, due_at, priority, start_deadline,
                  unique_key, owner_service, tags, rerun_of, schedule_id, fire_at, created_at)
SELECT s.shard, u.*
  FROM shards s,
       unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::json[], $7::bytea[],
              $8::timestamptz[], $9::smallint[], $10::timestamptz[], $11::text[], $12::text[],
              $13::jsonb[], $14::uuid[], $15::uuid[], $16::timestamptz[], $17::timestamptz[]) u
 WHERE s.shard = $1
