-- Teams that were described, by slug: after $1 and among $2, if these are given.
SELECT team, name, suspended_at, suspend_reason, settings, version, created_at
  FROM teams
 WHERE ($1::text IS NULL OR team > $1) AND ($2::text[] IS NULL OR team = ANY($2))
 ORDER BY team
 LIMIT $3
