-- How jobs of one shard ended. The same transaction has deleted their `live` rows.
INSERT INTO done (shard, job_id, team, state, reason, attempt, failures, fence, finished_at)
SELECT s.shard, u.*, $9
  FROM shards s,
       unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::int[], $7::int[], $8::int[]) u
 WHERE s.shard = $1
