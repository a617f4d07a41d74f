-- Jobs of one shard in a commit of their own, from arrays of what differs from job to job: the least
-- that a batch can be on these tables.
WITH asked AS (
    INSERT INTO jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
    SELECT $1, u.job_id, 'bench', 'bench', u.spec, u.payload, u.due_at, 5, $6
      FROM unnest($2::uuid[], $3::json[], $4::bytea[], $5::timestamptz[])
               AS u(job_id, spec, payload, due_at))
INSERT INTO live (shard, job_id, team, queue, state, priority, due_at, updated_at)
SELECT $1, u.job_id, 'bench', 'bench', 'PENDING', 5, u.due_at, $6
  FROM unnest($2::uuid[], $5::timestamptz[]) AS u(job_id, due_at)
