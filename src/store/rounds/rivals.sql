-- Which teams have something due, and in which of the shards $3: by one index probe for each shard,
-- team and priority that waits, at most 64 for a shard; the walk is that of claim.sql, and $4 holds its
-- $9 for each shard. $2 is the team below which to begin; null for the first.
WITH RECURSIVE down (shard, team, priority, due_at, floor, step) AS (
    SELECT s.shard, n.team, n.priority, n.due_at, s.floor, 1
      FROM unnest($3::int[], $4::timestamptz[]) AS s(shard, floor)
     CROSS JOIN LATERAL (
            (SELECT c.team, c.priority, c.due_at
               FROM live c
              WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                AND $2::text IS NULL AND c.due_at >= s.floor
              ORDER BY c.team DESC, c.priority DESC, c.due_at
              LIMIT 1)
              UNION ALL
            (SELECT c.team, c.priority, c.due_at
               FROM live c
              WHERE c.shard = s.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                AND c.team < $2 AND c.due_at >= s.floor
              ORDER BY c.team DESC, c.priority DESC, c.due_at
              LIMIT 1)) n
     UNION ALL
    SELECT d.shard, n.team, n.priority, n.due_at, d.floor, d.step + 1
      FROM down d
     CROSS JOIN LATERAL (
            SELECT c.team, c.priority, c.due_at
              FROM live c
             WHERE c.shard = d.shard AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
               AND (c.team, c.priority) < (d.team, d.priority) AND c.due_at >= d.floor
             ORDER BY c.team DESC, c.priority DESC, c.due_at
             LIMIT 1) n
     WHERE d.step < 64)
SELECT d.shard, d.team, min(d.due_at) <= $1 AS is_due, max(d.step) = 64 AS is_last
  FROM down d
 GROUP BY d.shard, d.team
