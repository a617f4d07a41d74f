-- A team's runs that are going on.
SELECT count(*) AS used FROM live WHERE team = $1 AND state = 'RUNNING' AND job_id IS NOT NULL
