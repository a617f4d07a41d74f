-- When the next job of a shard is due whose team is not among $2: the walk of rivals.sql, through one
-- shard, by one probe for each team and priority that waits, at most 64.
WITH RECURSIVE down (team, priority, due_at, step) AS (
    (SELECT c.team, c.priority, c.due_at, 1
       FROM live c
      WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
      ORDER BY c.team DESC, c.priority DESC, c.due_at
      LIMIT 1)
     UNION ALL
    SELECT n.team, n.priority, n.due_at, d.step + 1
      FROM down d
     CROSS JOIN LATERAL (
            SELECT c.team, c.priority, c.due_at
              FROM live c
             WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
               AND (c.team, c.priority) < (d.team, d.priority)
             ORDER BY c.team DESC, c.priority DESC, c.due_at
             LIMIT 1) n
     WHERE d.step < 64)
SELECT min(due_at) AS due_at FROM down WHERE team <> ALL($2::text[])
