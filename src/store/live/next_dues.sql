-- The same for every shard and all of its jobs, in one statement: the puller's look when it starts and
-- as a fallback.
SELECT s.shard, min(head.due_at) AS due_at
  FROM shards s
 CROSS JOIN generate_series(0, 9) AS level(priority)
 CROSS JOIN LATERAL (
        SELECT c.due_at
          FROM live c
         WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
           AND c.priority = level.priority::smallint AND c.priority >= 0
         ORDER BY c.due_at
         LIMIT 1) head
 GROUP BY s.shard
