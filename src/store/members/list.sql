-- A team's members, those who were there first before the others.
SELECT m.user_id, u.email, u.name, m.role, m.joined_at
  FROM members m
  JOIN users u ON u.user_id = m.user_id
 WHERE m.team = $1
 ORDER BY m.joined_at, m.user_id
 LIMIT $2
