-- Empty copies of the tables of the main job, indexes and storage settings too, for what the
-- database can do with them at best. A connection that looks here first runs the server's own
-- statements on them.
DROP SCHEMA IF EXISTS limits CASCADE;
CREATE SCHEMA limits;
CREATE TABLE limits.jobs (LIKE public.jobs INCLUDING ALL);
CREATE TABLE limits.live (LIKE public.live INCLUDING ALL);
CREATE TABLE limits.done (LIKE public.done INCLUDING ALL);
CREATE TABLE limits.runs (LIKE public.runs INCLUDING ALL);
DO $$
DECLARE it record;
BEGIN
    FOR it IN
        SELECT relname, array_to_string(reloptions, ', ') AS options
          FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reloptions IS NOT NULL
           AND relname IN ('jobs', 'live', 'done', 'runs')
    LOOP
        EXECUTE format('ALTER TABLE limits.%I SET (%s)', it.relname, it.options);
    END LOOP;
END $$;
