-- How many runs of each of these teams are going on; a team with none is left out.
SELECT team, count(*) AS used
  FROM live
 WHERE team = ANY($1::text[]) AND state = 'RUNNING' AND job_id IS NOT NULL
 GROUP BY team
