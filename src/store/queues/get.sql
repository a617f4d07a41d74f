-- A queue that somebody has changed.
SELECT name, paused, pause_reason, description, version, updated_at
  FROM queues
 WHERE team = $1 AND name = $2
