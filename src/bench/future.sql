-- Jobs that are not due for years, a second apart in each shard, as copies of one that is there: in each
-- shard those with the numbers $1 to $3. Their ids are in order, as those of jobs that were registered
-- one after the other.
WITH asked AS (
    INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT s.shard, (lpad(to_hex(n), 12, '0') || lpad(to_hex(s.shard), 20, '0'))::uuid, one.team,
           one.queue, one.spec, one.payload, $2::timestamptz + make_interval(secs => n), one.priority,
           one.created_at
      FROM (SELECT * FROM public.jobs WHERE queue = 'bench' LIMIT 1) one, shards s,
           generate_series($1::bigint, $3::bigint) n
    RETURNING shard, job_id, team, queue, priority, due_at, created_at)
INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
SELECT shard, job_id, team, queue, 'PENDING', priority, due_at, created_at
  FROM asked
