-- Takes back what a puller ($1) said of targets that are not among ($2, $3) any more.
DELETE FROM throttled_targets t
 WHERE t.puller = $1
   AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::text[]) AS u(team, target)
                    WHERE u.team = t.team AND u.target = t.target)
