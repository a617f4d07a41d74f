-- How many jobs were made for this instant, and how long after it the last came to be.
SELECT count(*) AS made,
       extract(epoch FROM max(created_at) - min(fire_at))::double precision * 1000 AS took_ms
  FROM jobs
 WHERE fire_at = $1
