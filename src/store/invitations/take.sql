-- Takes an invitation away, for whoever holds its token, if it has not ended.
DELETE FROM invitations WHERE hash = $1 AND expires_at > $2
RETURNING team, email, role, expires_at
