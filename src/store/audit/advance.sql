-- Notes the new end of a team's log.
UPDATE audit_heads SET seq = $2, hash = $3 WHERE team = $1
