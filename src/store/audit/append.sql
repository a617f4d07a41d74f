-- An entry at the end of its team's log.
INSERT INTO audit (team, seq, at, kind, subject, credential, verb, object, before, after, reason,
                   address, request_id, prev_hash, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
