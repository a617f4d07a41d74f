-- A member of a team.
SELECT m.user_id, u.email, u.name, m.role, m.joined_at
  FROM members m
  JOIN users u ON u.user_id = m.user_id
 WHERE m.team = $1 AND m.user_id = $2
