-- The unfinished jobs that have these unique keys.
SELECT l.job_id, l.unique_key
  FROM live l
 WHERE l.shard = $1 AND l.team = $2 AND l.unique_key = ANY($3::text[])
