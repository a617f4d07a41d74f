-- A new invitation.
INSERT INTO invitations (hash, team, email, role, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
