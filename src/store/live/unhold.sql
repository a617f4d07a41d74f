-- Gives back what was set aside and whose queue is no longer paused.
UPDATE live
   SET held = false
 WHERE shard = $1 AND held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM live l
          LEFT JOIN queues q ON q.team = l.team AND q.name = l.queue AND q.paused
         WHERE l.shard = $1 AND l.held AND q.team IS NULL
         ORDER BY l.job_id
         LIMIT $2
           FOR UPDATE OF l SKIP LOCKED))
