-- The unfinished jobs of some schedules of one shard, in the order in which they take turns.
SELECT schedule_id, job_id, state
  FROM live
 WHERE shard = $1 AND schedule_id = ANY($2::uuid[])
 ORDER BY due_at, job_id
