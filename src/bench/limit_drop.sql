-- Takes the copies away.
DROP SCHEMA limits CASCADE
