-- Makes the gate of a team's quota, unless it is there.
INSERT INTO quota_gates (team, quota) VALUES ($1, $2) ON CONFLICT (team, quota) DO NOTHING
