-- What runs of these jobs need to know, for those who settle a run without having called it.
SELECT job_id, spec FROM jobs WHERE shard = $1 AND job_id = ANY($2::uuid[])
