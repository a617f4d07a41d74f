-- How many keys of a team open something, counted up to a bound.
SELECT count(*) AS live
  FROM (SELECT FROM keys
         WHERE team = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
         LIMIT $3) found
