-- Access tokens from now on name another epoch.
UPDATE sessions SET epoch = epoch + 1 WHERE session_id = $1
