-- Lets the current secret of a team and queue sign until $3 only: another takes its place.
UPDATE signing_secrets SET expires_at = $3
 WHERE team = $1 AND queue = $2 AND expires_at IS NULL
RETURNING secret_id
