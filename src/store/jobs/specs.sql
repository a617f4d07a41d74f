-- What runs of these jobs need to know, for those who settle a run without having called it. One by
-- one (OFFSET 0): so each is looked up in its own part of the history, and an array in all of them.
SELECT wanted.job_id, j.spec
  FROM unnest($2::uuid[]) AS wanted(job_id)
 CROSS JOIN LATERAL (
        SELECT d.spec FROM jobs d WHERE d.shard = $1 AND d.job_id = wanted.job_id OFFSET 0) j
