-- A team's members, locked, so that of two changes at a time each sees what the other has done.
SELECT user_id, role FROM members WHERE team = $1 ORDER BY user_id FOR UPDATE
