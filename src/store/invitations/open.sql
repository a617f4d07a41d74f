-- How many invitations to a team are open, counted up to a bound.
SELECT count(*) AS open
  FROM (SELECT FROM invitations WHERE team = $1 AND expires_at > $2 LIMIT $3) found
