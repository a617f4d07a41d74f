-- Notes that a key was used, unless that was noted since $3.
UPDATE keys SET last_used_at = $2
 WHERE key_id = $1 AND (last_used_at IS NULL OR last_used_at < $3)
