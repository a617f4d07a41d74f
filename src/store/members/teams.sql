-- The teams of a person, and what they are there.
SELECT team, role FROM members WHERE user_id = $1 ORDER BY team LIMIT $2
