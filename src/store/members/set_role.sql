-- What a member is from now on.
UPDATE members SET role = $3 WHERE team = $1 AND user_id = $2
