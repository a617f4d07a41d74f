-- Forgets what a team has taken out of its bucket, and what it owes: by another rate.
DELETE FROM quota_rates WHERE team = $1
