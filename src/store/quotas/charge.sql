-- The same without asking what is there: for what has been done already.
INSERT INTO quota_rates AS r (team, full_at_us)
VALUES ($1, $2::bigint + $3::bigint)
    ON CONFLICT (team)
    DO UPDATE SET full_at_us = greatest(r.full_at_us, $2) + $3
RETURNING full_at_us
