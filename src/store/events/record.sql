-- Keeps an uncommon event. What a target can repeat without bound is counted, not repeated.
INSERT INTO events (shard, job_id, fence, kind, first_at, last_at, detail)
SELECT s.shard, u.job_id, u.fence, $4, $5, $5, $6
  FROM shards s, unnest($2::uuid[], $3::int[]) AS u(job_id, fence)
 WHERE s.shard = $1
    ON CONFLICT (shard, job_id, fence, kind)
    DO UPDATE SET count = events.count + 1, last_at = excluded.last_at, detail = excluded.detail
