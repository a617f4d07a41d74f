-- Sets due jobs of suspended teams aside, so that nobody claims in vain: at most the first $3 of each
-- priority at a time. The team's row is share-locked: whoever lifts the suspension waits until this
-- has committed, and gives back all of it.
UPDATE live
   SET held = true
 WHERE shard = $1 AND state IN ('PENDING', 'RETRY_WAIT') AND NOT held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM teams t
         CROSS JOIN generate_series(0, 9) AS level(priority)
         CROSS JOIN LATERAL (
                SELECT c.job_id
                  FROM live c
                 WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                   AND c.team = t.team AND c.priority = level.priority::smallint
                   AND c.due_at <= $2
                 ORDER BY c.due_at
                 LIMIT $3) head
          JOIN live l ON l.shard = $1 AND l.job_id = head.job_id
         WHERE t.suspended_at IS NOT NULL
           AND l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
         ORDER BY l.job_id
           FOR UPDATE OF l SKIP LOCKED
           FOR SHARE OF t))
RETURNING job_id
