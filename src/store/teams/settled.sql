-- The teams that have settled what every request may need, and all that they have settled.
SELECT team, settings
  FROM teams
 WHERE settings -> 'redact' IS NOT NULL
    OR settings -> 'viewers_see_payloads' IS NOT NULL
    OR settings -> 'default_time_zone' IS NOT NULL
