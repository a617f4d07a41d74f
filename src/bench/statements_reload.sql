-- Makes every process of the server look at its settings.
SELECT pg_reload_conf()
