-- The payloads of a team's unfinished jobs together. Job by job (OFFSET 0): a plan that joined by
-- shard would read every job there ever was. The length of a payload is read without the payload.
SELECT coalesce(sum(j.bytes), 0)::bigint AS used
  FROM live l
 CROSS JOIN LATERAL (
        SELECT octet_length(d.payload) AS bytes
          FROM jobs d
         WHERE d.shard = l.shard AND d.job_id = l.job_id
        OFFSET 0) j
 WHERE l.team = $1 AND l.job_id IS NOT NULL
