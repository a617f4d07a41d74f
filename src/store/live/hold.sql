-- Sets due jobs of paused queues aside, so that claims need not pass over them again and again.
-- Looks at the head of each priority of their teams only: what lies behind it comes to the head
-- later. The queue's row is share-locked: whoever resumes it waits until this has committed, and
-- gives back all of it.
UPDATE live
   SET held = true
 WHERE shard = $1 AND state IN ('PENDING', 'RETRY_WAIT') AND NOT held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM queues q
         CROSS JOIN generate_series(0, 9) AS level(priority)
         CROSS JOIN LATERAL (
                SELECT c.job_id
                  FROM live c
                 WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                   AND c.team = q.team AND c.priority = level.priority::smallint
                   AND c.due_at <= $2
                 ORDER BY c.due_at
                 LIMIT $3) head
          JOIN live l ON l.shard = $1 AND l.job_id = head.job_id
         WHERE q.paused AND l.queue = q.name
           AND l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
         ORDER BY l.job_id
           FOR UPDATE OF l SKIP LOCKED
           FOR SHARE OF q))
RETURNING job_id
