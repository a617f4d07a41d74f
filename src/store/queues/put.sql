-- Creates or changes a queue's description; pause has its own statement.
INSERT INTO queues (team, name, description, updated_at)
VALUES ($1, $2, $3, $4)
    ON CONFLICT (team, name)
    DO UPDATE SET description = excluded.description, version = queues.version + 1,
                  updated_at = excluded.updated_at
RETURNING name, paused, pause_reason, description, version, updated_at
