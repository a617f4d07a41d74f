-- A page of a team's jobs, newest first (ids sort by time), without payloads. Reads all shards.
-- $2 and $3 bound the ids, exclusive above; $4 states; $5 queues and $6 to $9 filters, null for any; $10 rows.
-- State by state off an index that begins with team and state, so that a page of the few that run or
-- failed costs the same beside millions that wait or succeeded.
SELECT page.*, NULL::bytea AS payload,
       r.state AS last_state, r.http_status AS last_status, r.error_class, r.error_message,
       NULL::bytea AS result
  FROM (
        SELECT one.*
          FROM unnest($4::text[]) AS wanted(state)
         CROSS JOIN LATERAL (
                SELECT j.shard, j.job_id, j.team, j.queue, j.name, j.spec, j.due_at, j.priority,
                       j.start_deadline, j.unique_key, j.owner_service, j.tags, j.rerun_of,
                       j.schedule_id, j.fire_at, j.version, j.created_at, st.state, st.reason, st.attempt, st.failures, st.fence, st.held,
                       st.next_attempt_at, st.updated_at, st.finished_at, st.claimed_at,
                       st.accepted_at, st.deadline_at, st.progress, st.deferred
                  FROM standing st
                  JOIN jobs j ON j.shard = st.shard AND j.job_id = st.job_id
                 WHERE st.team = $1 AND st.state = wanted.state
                   AND st.job_id < $2 AND st.job_id >= $3
                   AND ($5::text[] IS NULL OR j.queue = ANY($5))
                   AND ($6::text IS NULL OR j.name = $6)
                   AND ($7::text IS NULL OR j.owner_service = $7)
                   AND ($8::jsonb IS NULL OR j.tags @> $8)
                   AND ($9::uuid IS NULL OR j.schedule_id = $9)
                 ORDER BY st.job_id DESC
                 LIMIT $10) one
         ORDER BY one.job_id DESC
         LIMIT $10) page
  LEFT JOIN LATERAL (
        SELECT state, http_status, error_class, error_message
          FROM runs
         WHERE runs.shard = page.shard AND runs.job_id = page.job_id
         ORDER BY fence DESC LIMIT 1) r ON true
 ORDER BY page.job_id DESC
