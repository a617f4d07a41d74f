-- What the secret key must open.
SELECT sealed FROM vault
