-- succeed, fail: RUNNING → SUCCESS, FAILED. The row leaves `live`; the same transaction writes it
-- to `done`.
DELETE FROM live l
 USING unnest($2::uuid[], $3::int[]) AS u(job_id, fence)
 WHERE l.shard = $1 AND l.job_id = u.job_id AND l.fence = u.fence AND l.state = 'RUNNING'
