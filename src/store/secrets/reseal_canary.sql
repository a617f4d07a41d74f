-- Seals the canary anew, unless another process was first.
UPDATE vault SET sealed = $2 WHERE sealed = $1
RETURNING one
