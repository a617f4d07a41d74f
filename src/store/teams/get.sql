-- A team that was described.
SELECT team, name, suspended_at, suspend_reason, settings, version, created_at FROM teams WHERE team = $1
