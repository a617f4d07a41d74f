-- Locks one schedule without reading it.
SELECT schedule_id FROM schedules WHERE shard = $1 AND schedule_id = $2 FOR UPDATE
