-- Whether every job is finished. Asked only when the target has seen them all, so it finds a row at
-- once or has little to look through.
SELECT NOT EXISTS (SELECT FROM live)
