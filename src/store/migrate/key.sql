-- Gives a new installation its key; an old one keeps what it has.
INSERT INTO installation (callback_key) VALUES ($1) ON CONFLICT DO NOTHING
