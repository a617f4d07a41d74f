-- A team's unfinished jobs, as far as $2: of an index alone, where the table has been vacuumed.
SELECT count(*) AS used
  FROM (SELECT FROM live WHERE team = $1 AND job_id IS NOT NULL LIMIT $2) l
