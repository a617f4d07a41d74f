-- The end of a team's log, locked: whoever appends next waits for this transaction's end.
INSERT INTO audit_heads (team, seq, hash)
VALUES ($1, 0, $2)
    ON CONFLICT (team) DO UPDATE SET seq = audit_heads.seq
RETURNING seq, hash
