-- A job as the server stores it, and every shard.
SELECT j.spec, j.payload, j.due_at, (SELECT array_agg(s.shard ORDER BY s.shard) FROM shards s) AS shards
  FROM public.jobs j
 WHERE j.queue = 'bench'
 LIMIT 1
