-- Locks the gate of a team's quota.
SELECT FROM quota_gates WHERE team = $1 AND quota = $2 FOR UPDATE
