-- A hint for every listening process: never the truth, never inside a job's transaction. The commit of its
-- own need not wait for the disk: a hint that a crash takes along is worth nothing afterwards.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)
