-- When a team's bucket is full, in microseconds.
SELECT full_at_us FROM quota_rates WHERE team = $1
