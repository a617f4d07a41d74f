-- A queue that somebody has changed, locked.
SELECT name, paused, pause_reason, description, version, updated_at
  FROM queues
 WHERE team = $1 AND name = $2
   FOR NO KEY UPDATE
