-- How many tokens of a team are refused just now, counted up to a bound.
SELECT count(*) AS revoked
  FROM (SELECT FROM revoked_tokens WHERE team = $1 AND expires_at > $2 LIMIT $3) found
