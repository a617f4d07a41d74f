-- Forgets a team's secrets that have signed nothing since $2.
DELETE FROM signing_secrets WHERE team = $1 AND expires_at < $2
