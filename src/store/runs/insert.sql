-- How runs of one shard ended. A run ends once: the primary key is (shard, job, fence).
INSERT INTO runs (shard, job_id, fence, attempt, state, puller, claimed_at, sent_at, accepted_at,
                  heartbeat_at, deadline_at, retry_at, http_status, error_class, error_message,
                  response_headers, response_body, response_truncated, result, progress, finished_at)
SELECT s.shard, u.*, $21
  FROM shards s,
       unnest($2::uuid[], $3::int[], $4::int[], $5::text[], $6::text[], $7::timestamptz[],
              $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[],
              $12::timestamptz[], $13::int[], $14::text[], $15::text[], $16::json[], $17::bytea[],
              $18::bool[], $19::bytea[], $20::json[]) u
 WHERE s.shard = $1
