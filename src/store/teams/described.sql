-- The teams that are suspended, and why, or have settled anything, and what.
SELECT team, suspended_at IS NOT NULL AS is_suspended, suspend_reason, settings
  FROM teams
 WHERE suspended_at IS NOT NULL OR settings::text <> '{}'
