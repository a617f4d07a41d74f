-- Jobs that were called once and succeeded, as copies of one that is there: in each shard those with the
-- numbers $1 to $3, a second apart from $2 on. Their ids are in order.
WITH asked AS (
    INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT s.shard, (lpad(to_hex(n), 12, '0') || lpad(to_hex(s.shard), 20, '0'))::uuid, one.team,
           one.queue, one.spec, one.payload, $2::timestamptz + make_interval(secs => n), one.priority,
           $2::timestamptz + make_interval(secs => n)
      FROM (SELECT * FROM public.jobs WHERE queue = 'bench' LIMIT 1) one, shards s,
           generate_series($1::bigint, $3::bigint) n
    RETURNING shard, job_id, team, due_at),
ended AS (
    INSERT INTO runs (shard, job_id, fence, attempt, state, puller, claimed_at, sent_at, finished_at,
                      http_status)
    SELECT shard, job_id, 1, 1, 'SUCCESS', 'bench', due_at, due_at, due_at, 200
      FROM asked)
INSERT INTO done (shard, job_id, team, state, attempt, failures, fence, finished_at)
SELECT shard, job_id, team, 'SUCCESS', 1, 0, 1, due_at
  FROM asked
