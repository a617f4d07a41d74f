-- Puts the rows of where they stand back, each with the team of its definition.
INSERT INTO live
SELECT (jsonb_populate_record(t, jsonb_build_object('team', 'bench-' || abs(hashtext(t.job_id::text)::bigint) % $1::bigint))).*
  FROM taken_live t
 ORDER BY t.job_id
