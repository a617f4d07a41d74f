-- Makes the canary, unless another process was first.
INSERT INTO vault (sealed) VALUES ($1) ON CONFLICT DO NOTHING
