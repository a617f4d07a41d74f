-- Lets the current secret of a team, queue and kind sign until $4 only: another takes its place.
UPDATE signing_secrets SET expires_at = $4
 WHERE team = $1 AND queue = $2 AND kind = $3 AND expires_at IS NULL
RETURNING secret_id
