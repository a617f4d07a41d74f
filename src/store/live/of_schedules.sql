-- The unfinished jobs of some schedules of one shard.
SELECT schedule_id, job_id, state
  FROM live
 WHERE shard = $1 AND schedule_id = ANY($2::uuid[])
 ORDER BY job_id
