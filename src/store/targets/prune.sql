-- Drops what pullers said that have been silent since $1. Several may do so at once.
DELETE FROM throttled_targets
 WHERE (team, target, puller) IN (
        SELECT team, target, puller
          FROM throttled_targets
         WHERE expires_at < $1
         ORDER BY team, target, puller
         LIMIT $2
           FOR UPDATE SKIP LOCKED)
