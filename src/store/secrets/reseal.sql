-- Stores a signing secret sealed anew, unless it has changed meanwhile.
UPDATE signing_secrets SET sealed = $4
 WHERE team = $1 AND secret_id = $2 AND sealed = $3
RETURNING secret_id
