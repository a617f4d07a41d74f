-- The shards in which a team has something due, by at most an index probe for each priority of each.
SELECT s.shard
  FROM shards s
 WHERE EXISTS (SELECT
                 FROM generate_series(0, 9) AS level(priority)
                CROSS JOIN LATERAL (
                       SELECT
                         FROM live c
                        WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                          AND c.team = $1 AND c.priority = level.priority::smallint AND c.due_at <= $2
                        LIMIT 1) head)
 ORDER BY s.shard
