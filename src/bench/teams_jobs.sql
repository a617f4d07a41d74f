-- Puts the definitions back, each as a job of one of $1 teams.
INSERT INTO jobs
SELECT (jsonb_populate_record(t, jsonb_build_object('team', 'bench-' || abs(hashtext(t.job_id::text)::bigint) % $1::bigint))).*
  FROM taken_jobs t
 ORDER BY t.job_id
