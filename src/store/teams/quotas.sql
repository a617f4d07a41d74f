-- The limits of the teams that have any of their own.
SELECT team, settings -> 'quotas' AS quotas FROM teams WHERE settings -> 'quotas' IS NOT NULL
