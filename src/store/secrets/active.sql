-- The signing secrets of a team that sign at $2: current ones first, then the newest.
SELECT team, secret_id, queue, kind, sealed, public_key, mask, created_by, created_at, expires_at
  FROM signing_secrets
 WHERE team = $1 AND (expires_at IS NULL OR expires_at > $2)
 ORDER BY expires_at IS NULL DESC, created_at DESC, secret_id DESC
