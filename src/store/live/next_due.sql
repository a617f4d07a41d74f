-- When the next waiting job of a shard is due, leaving out what is due before $2: one index probe per
-- priority.
SELECT min(head.due_at) AS due_at
  FROM generate_series(0, 9) AS level(priority)
 CROSS JOIN LATERAL (
        SELECT c.due_at
          FROM live c
         WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
           AND c.priority = level.priority::smallint AND c.priority >= 0 AND c.due_at >= $2
         ORDER BY c.due_at
         LIMIT 1) head
