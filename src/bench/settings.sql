-- What the figures depend on: the version, and what a commit waits for.
SELECT name, setting
  FROM pg_settings
 WHERE name IN ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers', 'full_page_writes')
 ORDER BY name
