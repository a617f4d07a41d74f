-- The noted end of a team's log.
SELECT seq, hash FROM audit_heads WHERE team = $1
