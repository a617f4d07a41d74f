-- Lets a key end at $3, unless it ends earlier already.
UPDATE keys SET expires_at = least(expires_at, $3::timestamptz) WHERE team = $1 AND key_id = $2
