-- Pauses ($3) or resumes a queue. Doing it twice changes nothing but the reason.
INSERT INTO queues (team, name, paused, holds, pause_reason, updated_at)
VALUES ($1, $2, $3, $3, $4, $5)
    ON CONFLICT (team, name)
    DO UPDATE SET paused = excluded.paused, holds = queues.holds OR excluded.holds,
                  pause_reason = excluded.pause_reason, version = queues.version + 1,
                  updated_at = excluded.updated_at
RETURNING name, paused, pause_reason, description, version, updated_at
