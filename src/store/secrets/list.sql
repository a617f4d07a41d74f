-- The signing secrets of a team, newest first.
SELECT team, secret_id, queue, kind, sealed, public_key, mask, created_by, created_at, expires_at
  FROM signing_secrets
 WHERE team = $1
 ORDER BY created_at DESC, expires_at DESC, secret_id DESC
 LIMIT 1000
