-- What a dashboard shows of the backlog: jobs due and not claimed (at most 100 counted per shard
-- and priority), and the due time of the oldest.
SELECT count(*) AS due_jobs, min(d.due_at) AS oldest_due_at
  FROM shards s
 CROSS JOIN generate_series(0, 9) AS level(priority)
 CROSS JOIN LATERAL (
        SELECT l.due_at
          FROM live l
         WHERE l.shard = s.shard AND l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
           AND l.priority = level.priority::smallint AND l.priority >= 0
           AND l.due_at <= $1
         ORDER BY l.due_at
         LIMIT 100) d
