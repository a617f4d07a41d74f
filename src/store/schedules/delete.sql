-- Deletes a schedule; its jobs and its fires stay.
DELETE FROM schedules WHERE shard = $1 AND schedule_id = $2
