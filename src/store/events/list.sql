-- The stored events of a job; a few per run.
SELECT fence, kind, count, first_at, last_at, detail
  FROM events
 WHERE shard = $1 AND job_id = $2
 ORDER BY last_at DESC
 LIMIT $3
