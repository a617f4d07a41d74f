-- Sets due jobs of paused queues aside, so that claims need not pass over them again and again.
UPDATE live
   SET held = true
 WHERE shard = $1 AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM live l
          JOIN queues q ON q.team = l.team AND q.name = l.queue AND q.paused
         WHERE l.shard = $1 AND l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
           AND l.due_at <= $2
         ORDER BY l.job_id
         LIMIT $3
           FOR UPDATE OF l SKIP LOCKED))
