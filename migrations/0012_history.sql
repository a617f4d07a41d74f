-- The history by weeks, so that what is kept no longer is dropped and not deleted row by row.
--
-- `jobs`, `done`, `runs` and `events` become partitioned on the job id, whose high bits are the time
-- at which the job was registered. All four have the same parts, so that a job lies in one of them
-- whole. A week and not a day: PostgreSQL 15 locks every part of a table when it executes a cached
-- plan, needed or not, and with a retention of 30 days that is nine of them and not forty.
--
-- What is there becomes the first part, with its indexes. Attaching it reads each table once.

ALTER TABLE jobs RENAME TO jobs_first;
ALTER TABLE done RENAME TO done_first;
ALTER TABLE runs RENAME TO runs_first;
ALTER TABLE events RENAME TO events_first;
ALTER INDEX jobs_pkey RENAME TO jobs_first_pkey;
ALTER INDEX done_pkey RENAME TO done_first_pkey;
ALTER INDEX done_team RENAME TO done_first_team;
ALTER INDEX runs_pkey RENAME TO runs_first_pkey;
ALTER INDEX events_pkey RENAME TO events_first_pkey;

CREATE TABLE jobs (LIKE jobs_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (shard, job_id))
    PARTITION BY RANGE (job_id);
CREATE TABLE done (LIKE done_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (shard, job_id))
    PARTITION BY RANGE (job_id);
CREATE TABLE runs (LIKE runs_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
                   PRIMARY KEY (shard, job_id, fence))
    PARTITION BY RANGE (job_id);
CREATE TABLE events (LIKE events_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS,
                     PRIMARY KEY (shard, job_id, fence, kind))
    PARTITION BY RANGE (job_id);
CREATE INDEX done_team ON done (team, state, job_id) WHERE team IS NOT NULL;

-- The parts, and how far each has been looked through for what is kept no longer. Whoever looks
-- after the history holds the row of the net meanwhile. Small: on Citus a reference table.
CREATE TABLE history_parts (
    part     text        PRIMARY KEY, -- what the names of its tables end with
    first_id uuid        NOT NULL,    -- its ids: from here
    end_id   uuid        NOT NULL,    -- to here, exclusive; of the net both are zero
    ends_at  timestamptz,             -- the instant of `end_id`; of the net null
    look_at  timestamptz NOT NULL,    -- when to look through it, or to go on with that
    ended_at timestamptz,             -- when its last job ended; null: not known, or one goes on
    shard    int,                     -- how far the look under way has come: this shard,
    after_id uuid,                    -- after this id; null: none is under way
    settled  boolean     NOT NULL DEFAULT false, -- when it began no unfinished job pointed here
    kept     bigint      NOT NULL DEFAULT 0,     -- jobs that it has met and left
    last_end timestamptz,             -- when the last of these ended
    soonest  timestamptz,             -- when the first of these will have been kept long enough
    CONSTRAINT place_is_whole CHECK ((shard IS NULL) = (after_id IS NULL))
) WITH (fillfactor = 50);

-- The smallest id that a job registered at this instant can have: domain::id::JobId::floor.
CREATE FUNCTION history_floor(instant timestamptz) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT (lpad(to_hex(trunc(extract(epoch FROM instant) * 1000)::bigint), 12, '0')
            || repeat('0', 20))::uuid
$$;

-- A part of each table. They are written once and read by their keys: what autovacuum is to do for
-- them is to freeze rows while their pages are still in memory, so that no later pass over the whole
-- table, which a busy database would otherwise need within days, finds anything to do; and not to
-- come for every thousand rows of a week that has just begun.
CREATE FUNCTION history_tables(part text, bounds text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['jobs', 'done', 'runs', 'events'] LOOP
        -- Attached, not made in place: that would keep everybody away from the parent.
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
                        WITH (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_threshold = 50000)',
                       parent || '_' || part, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I %s', parent, parent || '_' || part, bounds);
    END LOOP;
END $$;

-- Makes the part of the week that begins at this instant. Not if there is one for some of its ids;
-- nor if the net holds any, which then stay there until they are removed one by one.
CREATE FUNCTION history_open(week timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    name text := to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD');
    week_end timestamptz := week + interval '168 hours';
    low uuid := history_floor(week);
    high uuid := history_floor(week_end);
BEGIN
    IF EXISTS (SELECT FROM history_parts p WHERE p.first_id < high AND p.end_id > low) THEN
        RETURN false;
    END IF;
    PERFORM history_tables(name, format('FOR VALUES FROM (%L) TO (%L)', low, high));
    INSERT INTO history_parts (part, first_id, end_id, ends_at, look_at)
    VALUES (name, low, high, week_end, week_end);
    RETURN true;
EXCEPTION WHEN check_violation THEN
    RETURN false;
END $$;

-- Drops a part, unless an unfinished job points into it. Nobody registers or settles meanwhile, and
-- whoever reads sees all of a job or nothing of it.
CREATE FUNCTION history_drop(gone text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    low uuid;
    high uuid;
    parent text;
BEGIN
    LOCK TABLE ONLY jobs, ONLY done, ONLY runs, ONLY events IN ACCESS EXCLUSIVE MODE;
    SELECT first_id, end_id INTO STRICT low, high
      FROM history_parts WHERE part = gone AND ends_at IS NOT NULL;
    IF EXISTS (SELECT FROM shards s
                CROSS JOIN LATERAL (SELECT FROM live l
                                     WHERE l.shard = s.shard AND l.job_id >= low AND l.job_id < high
                                     LIMIT 1) unfinished) THEN
        RETURN false;
    END IF;
    FOREACH parent IN ARRAY ARRAY['jobs', 'done', 'runs', 'events'] LOOP
        EXECUTE format('DROP TABLE %I', parent || '_' || gone);
    END LOOP;
    DELETE FROM history_parts WHERE part = gone;
    RETURN true;
END $$;

-- The first part: all that is there, whatever its time, and this week.
DO $$
DECLARE
    parent text;
    id uuid;
    newest uuid;
    latest timestamptz;
    week timestamptz;
BEGIN
    FOREACH parent IN ARRAY ARRAY['jobs', 'done', 'runs', 'events'] LOOP
        EXECUTE format('SELECT t.job_id
                          FROM shards s
                         CROSS JOIN LATERAL (SELECT job_id FROM %I
                                              WHERE shard = s.shard ORDER BY job_id DESC LIMIT 1) t
                         ORDER BY t.job_id DESC LIMIT 1', parent || '_first') INTO id;
        newest := greatest(newest, id);
    END LOOP;
    SELECT clock_timestamp() + clock_shift_us * interval '1 microsecond' INTO latest FROM installation;
    latest := coalesce(latest, clock_timestamp());
    IF newest IS NOT NULL THEN
        latest := greatest(latest, to_timestamp(
            ('x' || left(replace(newest::text, '-', ''), 12))::bit(48)::bigint / 1000.0));
    END IF;
    week := date_trunc('week', latest, 'UTC') + interval '168 hours';
    FOREACH parent IN ARRAY ARRAY['jobs', 'done', 'runs', 'events'] LOOP
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
                       parent, parent || '_first', history_floor(week));
        EXECUTE format('ALTER TABLE %I SET (autovacuum_freeze_min_age = 0,
                                            autovacuum_vacuum_insert_threshold = 50000)',
                       parent || '_first');
    END LOOP;
    INSERT INTO history_parts (part, first_id, end_id, ends_at, look_at)
    VALUES ('first', repeat('0', 32)::uuid, history_floor(week), week, week);
    PERFORM history_open(week), history_open(week + interval '168 hours');
    -- The net: for ids of weeks that have no part, so that no job is refused for want of one.
    PERFORM history_tables('rest', 'DEFAULT');
    INSERT INTO history_parts (part, first_id, end_id, look_at)
    VALUES ('rest', repeat('0', 32)::uuid, repeat('0', 32)::uuid, week);
END $$;

-- As it was: it read the table that is now the first part.
CREATE OR REPLACE VIEW standing AS
    SELECT shard, job_id, team, state, NULL::text AS reason, attempt, failures, fence, held,
           CASE WHEN state IN ('PENDING', 'RETRY_WAIT') THEN due_at END AS next_attempt_at,
           updated_at, NULL::timestamptz AS finished_at, claimed_at, accepted_at, deadline_at, progress,
           deferred
      FROM live
    UNION ALL
    SELECT shard, job_id, team, state, reason, attempt, failures, fence, false,
           NULL, finished_at, finished_at, NULL, NULL, NULL, NULL, NULL
      FROM done;
