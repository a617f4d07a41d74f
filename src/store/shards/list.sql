-- The shards of this installation, always in the same order: placement is list[hash % length].
SELECT shard FROM shards ORDER BY shard
