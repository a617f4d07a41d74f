-- Sets due jobs of paused queues aside, so that claims need not pass over them again and again.
-- Looks at the head of each priority only: what lies behind it is claimed later anyway. The queue's
-- row is share-locked: whoever resumes it waits until this has committed, and gives back all of it.
UPDATE live
   SET held = true
 WHERE shard = $1 AND state IN ('PENDING', 'RETRY_WAIT') AND NOT held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM generate_series(0, 9) AS level(priority)
         CROSS JOIN LATERAL (
                SELECT c.job_id
                  FROM live c
                 WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                   AND c.priority = level.priority::smallint AND c.due_at <= $2
                 ORDER BY c.due_at
                 LIMIT $3) head
          JOIN live l ON l.shard = $1 AND l.job_id = head.job_id
          JOIN queues q ON q.team = l.team AND q.name = l.queue AND q.paused
         WHERE l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
         ORDER BY l.job_id
           FOR UPDATE OF l SKIP LOCKED
           FOR SHARE OF q))
RETURNING job_id
