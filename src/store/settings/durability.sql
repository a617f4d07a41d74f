-- Settings without which an answered registration can be lost by a crash of the database.
SELECT name FROM pg_settings
 WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes') AND setting = 'off'
