-- Deletes a calendar that no schedule excludes. On Citus the sub-select reads all shards.
DELETE FROM calendars c
 WHERE c.team = $1 AND c.name = $2
   AND NOT EXISTS (SELECT FROM schedules s
                    WHERE s.team = $1 AND (s.plan -> 'exclude')::jsonb ? $2)
RETURNING c.name
