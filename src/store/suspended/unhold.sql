-- Gives back jobs of a team that were set aside, but for those of its paused queues.
UPDATE live
   SET held = false
 WHERE shard = $1 AND held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM live l
         WHERE l.shard = $1 AND l.held AND l.team = $2
           AND NOT EXISTS (SELECT FROM queues q
                            WHERE q.team = l.team AND q.name = l.queue AND q.paused)
         ORDER BY l.job_id
         LIMIT $3
           FOR UPDATE OF l SKIP LOCKED))
RETURNING job_id
