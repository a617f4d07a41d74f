-- The shards in which a suspended team has something due that is not set aside: by one index probe for
-- each shard, team and priority.
SELECT s.shard
  FROM shards s
 CROSS JOIN LATERAL (
        SELECT head.job_id
          FROM teams t
         CROSS JOIN generate_series(0, 9) AS level(priority)
         CROSS JOIN LATERAL (
                SELECT l.job_id
                  FROM live l
                 WHERE l.shard = s.shard AND l.state IN ('PENDING', 'RETRY_WAIT') AND NOT l.held
                   AND l.team = t.team AND l.priority = level.priority::smallint
                   AND l.due_at <= $1
                 LIMIT 1) head
         WHERE t.suspended_at IS NOT NULL
         LIMIT 1) due
