-- One job of a team: what was asked, where it stands, and how its newest ended run went.
SELECT j.job_id, j.team, j.queue, j.name, j.spec, j.payload, j.due_at, j.priority, j.start_deadline,
       j.unique_key, j.owner_service, j.tags, j.rerun_of, j.schedule_id, j.fire_at, j.version, j.created_at,
       st.state, st.reason, st.attempt, st.failures, st.fence, st.held, st.next_attempt_at,
       st.updated_at, st.finished_at, st.claimed_at, st.accepted_at, st.deadline_at, st.progress, st.deferred,
       r.state AS last_state, r.http_status AS last_status, r.error_class, r.error_message, r.result
  FROM jobs j
  JOIN standing st ON st.shard = j.shard AND st.job_id = j.job_id
  LEFT JOIN LATERAL (
        SELECT state, http_status, error_class, error_message, result
          FROM runs
         WHERE runs.shard = j.shard AND runs.job_id = j.job_id
         ORDER BY fence DESC LIMIT 1) r ON true
 WHERE j.shard = $1 AND j.job_id = $2 AND j.team = $3
