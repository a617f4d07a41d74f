-- Finished jobs of one shard, in id order, with ids from after $2 to $3, exclusive.
SELECT job_id, team, fence, finished_at
  FROM done
 WHERE shard = $1 AND job_id > $2 AND job_id < $3
 ORDER BY job_id
 LIMIT $4
