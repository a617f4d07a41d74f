-- claim: PENDING, RETRY_WAIT → RUNNING, for at most $3 due jobs of one shard, in rounds: every team
-- that has something due gets the same share of them; in its share its higher priorities come first,
-- then the earlier due. Comes back with all that a run needs.
--   $6 is the team to begin with; without one, that of the job that is due longest, so that no team
--   waits for ever however many there are. Teams that are suspended are passed
--   over; of those in $7 at most as many jobs are taken as $8 says.
--   $9 is a time before which nothing that waits here is due, as far as the puller knows: entries of
--   jobs that have gone, which a snapshot held elsewhere keeps in the index, are passed over without
--   a look at each row.
--   `around` walks from team to team, and in each from priority to priority, by one index probe for
--   a pair that waits and none for its other jobs: 64 pairs at most. It reads the index
--   backwards, where the earliest of a pair comes first, and goes on above once it is at the end.
--   Weights would stand where the share is worked out.
--   The MATERIALIZED sub-select runs once whatever the plan, so LIMIT holds (bug B093).
--   The rows locked are found again by their place, and their definitions one by one (OFFSET 0):
--   a plan made while the tables were empty would join by shard alone and read all of it.
--   A paused queue's jobs are passed over; the sweep sets them aside (hold.sql).
WITH RECURSIVE start AS MATERIALIZED (
    SELECT coalesce($6, (
        SELECT oldest.team
          FROM generate_series(9, 0, -1) AS level(priority)
         CROSS JOIN LATERAL (
                SELECT c.team, c.due_at
                  FROM live c
                 WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                   AND c.priority = level.priority::smallint AND c.priority >= 0
                   AND c.due_at BETWEEN $9 AND $2
                 ORDER BY c.due_at
                 LIMIT 1) oldest
         ORDER BY oldest.due_at
         LIMIT 1)) AS team),
around (team, priority, due_at, above, step) AS (
    SELECT s.team, 10::smallint, NULL::timestamptz, '', 0
      FROM start s
     WHERE s.team IS NOT NULL
     UNION ALL
    SELECT n.team, n.priority, n.due_at, n.above, a.step + 1
      FROM around a
     CROSS JOIN LATERAL (
            (SELECT c.team, c.priority, c.due_at, a.above
               FROM live c
              WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                AND (c.team, c.priority) < (a.team, a.priority) AND c.team > a.above
                AND c.due_at >= $9
              ORDER BY c.team DESC, c.priority DESC, c.due_at
              LIMIT 1)
              UNION ALL
            (SELECT c.team, c.priority, c.due_at, s.team
               FROM start s
              CROSS JOIN LATERAL (
                     SELECT c.team, c.priority, c.due_at
                       FROM live c
                      WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                        AND c.team > s.team AND c.due_at >= $9
                      ORDER BY c.team DESC, c.priority DESC, c.due_at
                      LIMIT 1) c
              WHERE a.above = ''
              LIMIT 1)
              LIMIT 1) n
     WHERE a.step < 64),
round AS MATERIALIZED (
    SELECT a.team, min(a.step) AS turn, min(c.room) AS room
      FROM around a
      LEFT JOIN unnest($7::text[], $8::bigint[]) AS c(team, room) ON c.team = a.team
     WHERE a.due_at <= $2 AND c.room IS DISTINCT FROM 0
       AND NOT EXISTS (SELECT FROM teams t
                        WHERE t.team = a.team AND t.suspended_at IS NOT NULL)
     GROUP BY a.team
     ORDER BY turn
     LIMIT 64),
due AS MATERIALIZED (
    SELECT share.job_id, share.place
      FROM (SELECT r.team, r.room FROM round r ORDER BY r.turn) r
     CROSS JOIN LATERAL (
            SELECT head.job_id, head.place
              FROM (SELECT a.priority
                      FROM around a
                     WHERE a.team = r.team AND a.due_at <= $2
                     ORDER BY a.priority DESC) level
             CROSS JOIN LATERAL (
                    SELECT c.job_id, c.ctid AS place
                      FROM live c
                     WHERE c.shard = $1 AND c.state IN ('PENDING', 'RETRY_WAIT') AND NOT c.held
                       AND c.team = r.team AND c.priority = level.priority
                       AND c.due_at BETWEEN $9 AND $2
                       AND (c.start_deadline IS NULL OR c.start_deadline > $2)
                       AND NOT EXISTS (SELECT FROM queues q
                                        WHERE q.team = c.team AND q.name = c.queue AND q.paused)
                     ORDER BY c.due_at
                     LIMIT $3
                       FOR UPDATE OF c SKIP LOCKED) head
             LIMIT least(r.room, (SELECT ($3 + count(*) - 1) / count(*) FROM round))) share
     LIMIT $3)
UPDATE live l
   SET state = 'RUNNING', attempt = l.attempt + 1, fence = l.fence + 1, lease_until = $4,
       puller = $5, claimed_at = $2, updated_at = $2,
       sent_at = NULL, heartbeat_at = NULL, http_status = NULL, progress = NULL,
       deferred = NULL
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
