-- The person of an e-mail address, in whatever case it is written, and the password's hash.
SELECT user_id, email, name, password, installation_admin FROM users WHERE lower(email) = lower($1)
