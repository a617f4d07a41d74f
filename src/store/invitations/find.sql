-- An invitation that has not ended.
SELECT team, email, role, expires_at FROM invitations WHERE hash = $1 AND expires_at > $2
