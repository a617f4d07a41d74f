-- A person's new password.
UPDATE users SET password = $2, updated_at = $3 WHERE user_id = $1
