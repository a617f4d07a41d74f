-- Due jobs in the copies, so many in each shard, as copies of one that is there.
WITH asked AS (
    INSERT INTO limits.jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT s.shard, (lpad(to_hex(n), 12, '0') || lpad(to_hex(s.shard), 20, '0'))::uuid, one.team,
           one.queue, one.spec, one.payload, one.due_at, one.priority, one.created_at
      FROM (SELECT * FROM public.jobs WHERE queue = 'bench' LIMIT 1) one, public.shards s,
           generate_series(1, $1::bigint) n
    RETURNING shard, job_id, team, queue, priority, due_at, created_at)
INSERT INTO limits.live (shard, job_id, team, queue, state, priority, due_at, updated_at)
SELECT shard, job_id, team, queue, 'PENDING', priority, due_at, created_at
  FROM asked
