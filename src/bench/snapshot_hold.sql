-- Takes a snapshot and holds it until the transaction ends.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM shards
