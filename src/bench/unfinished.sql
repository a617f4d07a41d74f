-- How many jobs are unfinished.
SELECT count(*) FROM live
