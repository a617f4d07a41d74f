-- KiB of `live` on disk, with its indexes.
SELECT pg_total_relation_size('live') / 1024 AS kib
