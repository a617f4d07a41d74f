-- How many jobs of a queue did not succeed in exactly one run.
SELECT count(*)
  FROM jobs j
 WHERE j.queue = $1
   AND NOT (EXISTS (SELECT FROM done d
                     WHERE d.shard = j.shard AND d.job_id = j.job_id AND d.state = 'SUCCESS')
            AND (SELECT count(*) FROM runs r
                  WHERE r.shard = j.shard AND r.job_id = j.job_id) = 1)
