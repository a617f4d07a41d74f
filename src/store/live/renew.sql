-- A puller's sign of life for the runs that it is calling. Rows that are being settled at this
-- moment need none and are skipped, so a renewal never waits and never deadlocks.
UPDATE live
   SET lease_until = $4
 WHERE shard = $1 AND state = 'RUNNING'
   AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM unnest($2::uuid[], $3::int[]) AS u(job_id, fence)
          JOIN live l ON l.shard = $1 AND l.job_id = u.job_id
         WHERE l.fence = u.fence AND l.state = 'RUNNING' AND l.accepted_at IS NULL
         ORDER BY l.job_id
           FOR UPDATE OF l SKIP LOCKED))
