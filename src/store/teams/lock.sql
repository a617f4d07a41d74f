-- The same, locked.
SELECT team, name, suspended_at, suspend_reason, settings, version, created_at
  FROM teams
 WHERE team = $1
   FOR NO KEY UPDATE
