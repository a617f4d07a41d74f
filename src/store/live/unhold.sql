-- Gives back jobs of a resumed queue that were set aside.
UPDATE live
   SET held = false
 WHERE shard = $1 AND held AND job_id = ANY(ARRAY(
        SELECT l.job_id
          FROM live l
         WHERE l.shard = $1 AND l.held AND l.team = $2 AND l.queue = $3
         ORDER BY l.job_id
         LIMIT $4
           FOR UPDATE SKIP LOCKED))
RETURNING job_id
