-- Does now what the inserts before have left to do for whoever comes by first.
VACUUM (ANALYZE) jobs, live
