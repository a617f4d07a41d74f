-- Signing secrets of all teams that are not sealed with the key $1, after ($2, $3).
SELECT team, secret_id, queue, kind, sealed, public_key, mask, created_by, created_at, expires_at
  FROM signing_secrets
 WHERE NOT starts_with(sealed, $1) AND (team, secret_id) > ($2, $3)
 ORDER BY team, secret_id
 LIMIT 200
