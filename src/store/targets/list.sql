-- The targets of a team that pullers hold back at $2, in their order after $3, at most $4 of them;
-- of each a row for every puller.
SELECT t.target, t.puller, t.state, t.since, t.error_class, t.error, t.http_status, t.probe_at,
       t.in_flight, t.ceiling
  FROM (SELECT DISTINCT target
          FROM throttled_targets
         WHERE team = $1 AND expires_at > $2 AND ($3::text IS NULL OR target > $3)
         ORDER BY target
         LIMIT $4) page
  JOIN throttled_targets t ON t.team = $1 AND t.target = page.target AND t.expires_at > $2
 ORDER BY t.target, t.puller
