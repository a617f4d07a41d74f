-- Takes all jobs out, finished ones too, and keeps those that are queued for the statements that follow.
CREATE TEMP TABLE taken_live ON COMMIT DROP AS SELECT * FROM live;
CREATE TEMP TABLE taken_jobs ON COMMIT DROP AS
SELECT j.* FROM jobs j WHERE EXISTS (SELECT FROM live l WHERE l.shard = j.shard AND l.job_id = j.job_id);
TRUNCATE jobs, live, done, runs, events
