-- Finished jobs of one shard that lie in the net, in id order, with ids after $2.
SELECT job_id, team, fence, finished_at
  FROM done_rest
 WHERE shard = $1 AND job_id > $2
 ORDER BY job_id
 LIMIT $3
