-- Schedules of a shard whose waiting jobs nobody is ahead of: of all, or of those in $2.
SELECT DISTINCT w.schedule_id
  FROM live w
 WHERE w.shard = $1 AND w.state = 'WAITING' AND ($2::uuid[] IS NULL OR w.schedule_id = ANY($2))
   AND NOT EXISTS (SELECT FROM live a
                    WHERE a.shard = $1 AND a.schedule_id = w.schedule_id AND a.state <> 'WAITING')
 LIMIT $3
