-- Lends writes out of a team's rate: moves the instant at which its bucket is full on by $3 µs, if
-- there is at least one write in it, that is, if it is not later than $4. $2 is the present; all in
-- microseconds.
INSERT INTO quota_rates AS r (team, full_at_us)
VALUES ($1, $2::bigint + $3::bigint)
    ON CONFLICT (team)
    DO UPDATE SET full_at_us = greatest(r.full_at_us, $2) + $3
 WHERE r.full_at_us <= $4::bigint
RETURNING full_at_us
