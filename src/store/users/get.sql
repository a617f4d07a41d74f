-- A person.
SELECT user_id, email, name, password, installation_admin FROM users WHERE user_id = $1
