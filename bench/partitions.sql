-- What dividing the history costs: batches of 200 into `jobs`, `done` and `runs`, and look-ups of 200
-- jobs as a claim does them, in tables that are not divided, in a month of weeks (6 parts, and a net)
-- and in a month of days (36, and a net). Each batch is a transaction with a cached generic plan;
-- rounds take turns, and of the rounds the median is shown, in microseconds for a batch.
--
--   createdb scratch && axle migrate up --database-url postgres:///scratch
--   psql -X -f bench/partitions.sql scratch && dropdb scratch
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET synchronous_commit = off;
-- As Axle's connections are opened, with the plan that a statement comes to after a few uses.
SET enable_seqscan = off;
SET jit = off;
SET plan_cache_mode = force_generic_plan;

DROP SCHEMA IF EXISTS plain, weeks, days CASCADE;
CREATE SCHEMA plain;
CREATE SCHEMA weeks;
CREATE SCHEMA days;
CREATE TEMP TABLE times (layout text, what text, round int, us numeric);

-- The same tables thrice. Every layout begins 35 days ago.
CREATE FUNCTION pg_temp.lay_out(layout text, days int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    day int;
BEGIN
    FOREACH parent IN ARRAY ARRAY['jobs', 'done', 'runs'] LOOP
        EXECUTE format('CREATE TABLE %I.%I (LIKE public.%I INCLUDING ALL) %s', layout, parent, parent,
                       CASE WHEN days > 0 THEN 'PARTITION BY RANGE (job_id)' ELSE '' END);
        CONTINUE WHEN days = 0;
        day := -35;
        WHILE day < 1 LOOP
            EXECUTE format('CREATE TABLE %I.%I PARTITION OF %I.%I FOR VALUES FROM (%L) TO (%L)',
                layout, parent || '_' || day + 35, layout, parent,
                public.history_floor(current_date + day * interval '24 hours'),
                public.history_floor(current_date + (day + days) * interval '24 hours'));
            day := day + days;
        END LOOP;
        EXECUTE format('CREATE TABLE %I.%I PARTITION OF %I.%I DEFAULT', layout, parent || '_rest', layout, parent);
    END LOOP;
END $$;
SELECT pg_temp.lay_out('plain', 0), pg_temp.lay_out('weeks', 7), pg_temp.lay_out('days', 1) \g /dev/null

-- A month of finished jobs: 40 a minute.
CREATE TEMP TABLE made AS
SELECT s.shard, t.n, t.at, (left(public.history_floor(t.at)::text, 14) || '7' || lpad(to_hex(t.n % 4096), 3, '0')
                       || '-8000-' || lpad(to_hex(t.n), 9, '0') || lpad(to_hex(s.shard), 3, '0'))::uuid AS job_id
  FROM (SELECT n, current_date - interval '840 hours' + n * interval '1.5 s' AS at
          FROM generate_series(0, 35 * 24 * 60 * 40 - 1) n) t
  JOIN (SELECT shard, row_number() OVER (ORDER BY shard) - 1 AS nth FROM shards) s ON s.nth = t.n % 64;
\set asked '''{"target":{"url":"http://127.0.0.1:9000/work","method":"POST","headers":[]},"content_type":"application/json","json":true,"timeout_ms":30000,"completion":"response","retry":{"max_retries":3}}'''
SELECT format('INSERT INTO %I.jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
               SELECT shard, job_id, ''acme'', ''default'', %L, repeat(''p'', 100)::bytea, at, 5, at FROM made;
               INSERT INTO %I.done SELECT shard, job_id, ''acme'', ''SUCCESS'', NULL, 1, 0, 1, at FROM made;
               INSERT INTO %I.runs (shard, job_id, fence, attempt, state, finished_at)
               SELECT shard, job_id, 1, 1, ''SUCCESS'', at FROM made', layout, :asked, layout, layout)
  FROM unnest(ARRAY['plain', 'weeks', 'days']) layout \gexec
CREATE UNIQUE INDEX ON made (n);
VACUUM ANALYZE;

-- One procedure for each layout, so that its plans stay cached: `batches` transactions of each kind.
SELECT format($format$
CREATE PROCEDURE %1$I.go(round int, batches int) LANGUAGE plpgsql AS $$
DECLARE
    part int;
    ids uuid[];
    began timestamptz;
    spent interval[] := array_fill(interval '0 s', ARRAY[4]);
    all_shards int[] := ARRAY(SELECT shard FROM public.shards ORDER BY shard);
BEGIN
    FOR batch IN 1..batches LOOP
        part := all_shards[1 + batch %% 64];
        ids := ARRAY(SELECT (left(public.history_floor(clock_timestamp())::text, 14) || '7' || right(md5(random()::text), 3)
                             || '-8' || right(md5(random()::text), 3) || '-'
                             || right(md5(random()::text), 9) || lpad(to_hex(part), 3, '0'))::uuid
                       FROM generate_series(1, 200));
        COMMIT;
        began := clock_timestamp();
        INSERT INTO %1$I.jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
        SELECT part, id, 'acme', 'default', %2$L, repeat('p', 100)::bytea, began, 5, began FROM unnest(ids) id;
        COMMIT;
        spent[1] := spent[1] + (clock_timestamp() - began);
        began := clock_timestamp();
        INSERT INTO %1$I.done
        SELECT part, id, 'acme', 'SUCCESS', NULL, 1, 0, 1, began FROM unnest(ids) id;
        INSERT INTO %1$I.runs (shard, job_id, fence, attempt, state, finished_at)
        SELECT part, id, 1, 1, 'SUCCESS', began FROM unnest(ids) id;
        COMMIT;
        spent[2] := spent[2] + (clock_timestamp() - began);
        began := clock_timestamp();
        PERFORM j.spec, j.payload
           FROM unnest(ids) due(job_id)
          CROSS JOIN LATERAL (SELECT d.due_at, d.spec, d.payload, d.fire_at FROM %1$I.jobs d
                               WHERE d.shard = part AND d.job_id = due.job_id OFFSET 0) j;
        COMMIT;
        spent[3] := spent[3] + (clock_timestamp() - began);
        ids := ARRAY(SELECT job_id FROM pg_temp.made m WHERE m.n = ANY(ARRAY(
                         SELECT batch %% 64 + 64 * trunc(random() * (35 * 24 * 60 * 40 / 64))::int
                           FROM generate_series(1, 200))));
        COMMIT;
        began := clock_timestamp();
        PERFORM j.spec, j.payload
           FROM unnest(ids) due(job_id)
          CROSS JOIN LATERAL (SELECT d.due_at, d.spec, d.payload, d.fire_at FROM %1$I.jobs d
                               WHERE d.shard = part AND d.job_id = due.job_id OFFSET 0) j;
        COMMIT;
        spent[4] := spent[4] + (clock_timestamp() - began);
    END LOOP;
    INSERT INTO pg_temp.times
    SELECT %1$L, w.what, round, extract(epoch FROM spent[w.nth]) * 1e6 / batches
      FROM unnest(ARRAY['1 register: insert into jobs', '2 settle: insert into done and runs',
                        '3 look up jobs of today', '4 look up jobs of any time'])
           WITH ORDINALITY w(what, nth);
    COMMIT;
END $$
$format$, layout, :asked) FROM unnest(ARRAY['plain', 'weeks', 'days']) layout \gexec

-- The first round warms up.
SELECT format('CALL %I.go(%s, %s)', layout, round, CASE round WHEN 0 THEN 64 ELSE 128 END)
  FROM generate_series(0, 7) round, unnest(ARRAY['plain', 'weeks', 'days']) layout \gexec
\pset footer off
SELECT what, round(m.plain) AS plain_us, round(m.weeks) AS weeks_us, round(m.days) AS days_us,
       round((m.weeks / m.plain)::numeric, 3) AS weeks_to_plain, round((m.days / m.plain)::numeric, 3) AS days_to_plain
  FROM (SELECT what,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE layout = 'plain') AS plain,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE layout = 'weeks') AS weeks,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE layout = 'days') AS days
          FROM times WHERE round > 0 GROUP BY what) m
 ORDER BY what;
DROP SCHEMA plain, weeks, days CASCADE;
