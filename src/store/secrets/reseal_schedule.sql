-- Stores a schedule's definition with its headers sealed anew, unless it has changed meanwhile. Its
-- version stays: to its owner nothing has changed.
UPDATE schedules SET plan = $4
 WHERE shard = $1 AND schedule_id = $2 AND plan::text = $3
RETURNING schedule_id
