-- claim: PENDING, RETRY_WAIT → RUNNING, for at most $3 due jobs of one shard: higher priorities
-- first, then by due time. Comes back with all that a run needs.
--   The MATERIALIZED sub-select runs once whatever the plan, so LIMIT holds (bug B093).
--   Priorities are compared by equality inside the index, so future jobs cost nothing.
--   The rows locked are found again by their place, and their definitions one by one (OFFSET 0):
--   a plan made while the tables were empty would join by shard alone and read all of it.
--   A paused queue's jobs are passed over; the sweep sets them aside (hold.sql).
WITH due AS MATERIALIZED (
    SELECT head.job_id, head.place
      FROM generate_series(9, 0, -1) AS level(priority)
     CROSS JOIN LATERAL (
            SELECT c.job_id, c.ctid AS place
              FROM live c
             WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
               AND c.priority = level.priority::smallint AND c.due_at <= $2
               AND (c.start_deadline IS NULL OR c.start_deadline > $2)
               AND NOT EXISTS (SELECT FROM queues q
                                WHERE q.team = c.team AND q.name = c.queue AND q.paused)
             ORDER BY c.due_at
             LIMIT $3
               FOR UPDATE OF c SKIP LOCKED) head
     LIMIT $3)
UPDATE live l
   SET state = 'RUNNING', attempt = l.attempt + 1, fence = l.fence + 1, lease_until = $4,
       puller = $5, claimed_at = $2, updated_at = $2,
       sent_at = NULL, heartbeat_at = NULL, http_status = NULL, progress = NULL
  FROM due
 CROSS JOIN LATERAL (
        SELECT d.due_at, d.spec, d.payload, d.fire_at
          FROM jobs d
         WHERE d.shard = $1 AND d.job_id = due.job_id
        OFFSET 0) j
 WHERE l.shard = $1 AND l.ctid = due.place AND l.job_id = due.job_id
   AND l.state IN ('PENDING', 'RETRY_WAIT')
RETURNING l.job_id, l.fence, l.team, l.queue, l.attempt, l.failures, l.lost, l.due_at, l.priority,
          j.due_at AS first_due_at, j.spec, j.payload, l.schedule_id,
          j.fire_at
