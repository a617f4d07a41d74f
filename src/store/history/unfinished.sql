-- Whether an unfinished job has an id from $1 to $2, exclusive above: a probe per shard.
SELECT count(*) > 0 AS unfinished
  FROM shards s
 CROSS JOIN LATERAL (
        SELECT FROM live l WHERE l.shard = s.shard AND l.job_id >= $1 AND l.job_id < $2 LIMIT 1) u
