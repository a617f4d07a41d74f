-- A hint for every listening process: never the truth, never inside a job's transaction.
SELECT pg_notify($1, $2)
