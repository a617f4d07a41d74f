-- Somebody is no member any more.
DELETE FROM members WHERE team = $1 AND user_id = $2
