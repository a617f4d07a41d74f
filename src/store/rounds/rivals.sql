-- Which teams have something due, and in which shards: by one index probe for each shard, team and
-- priority that waits, at most 64 for a shard; the walk is that of claim.sql. $2 is the team below
-- which to begin; null for the first.
WITH RECURSIVE down (shard, team, priority, due_at, step) AS (
    SELECT s.shard, n.team, n.priority, n.due_at, 1
      FROM shards s
     CROSS JOIN LATERAL (
            (SELECT c.team, c.priority, c.due_at
               FROM live c
              WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                AND $2::text IS NULL
              ORDER BY c.team DESC, c.priority DESC, c.due_at
              LIMIT 1)
              UNION ALL
            (SELECT c.team, c.priority, c.due_at
               FROM live c
              WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                AND c.team < $2
              ORDER BY c.team DESC, c.priority DESC, c.due_at
              LIMIT 1)) n
     UNION ALL
    SELECT d.shard, n.team, n.priority, n.due_at, d.step + 1
      FROM down d
     CROSS JOIN LATERAL (
            SELECT c.team, c.priority, c.due_at
              FROM live c
             WHERE c.shard = d.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
               AND (c.team, c.priority) < (d.team, d.priority)
             ORDER BY c.team DESC, c.priority DESC, c.due_at
             LIMIT 1) n
     WHERE d.step < 64)
SELECT d.shard, d.team, min(d.due_at) <= $1 AS is_due, max(d.step) = 64 AS is_last
  FROM down d
 GROUP BY d.shard, d.team
