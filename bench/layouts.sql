-- What the layout of the tables costs: the way of 200 jobs of one shard from their registration over
-- their claim to their end, in Axle's own tables (`ours`) and in others that were considered:
--   state_on_run  no `done`: the job's end is on its last run, which gets the index for lists
--   no_lease      no index of leases: silent runs would be looked for by reading all that run
--   no_rounds     no index of the rounds between teams: what fair claims cost
--   one_table     one table of jobs, updated twice, and runs
-- Each step is a transaction with cached generic plans; layouts take turns, and of the rounds the median
-- is shown: microseconds and bytes of write-ahead log for one job.
--
--   createdb scratch && axle migrate up --database-url postgres:///scratch
--   psql -X -f bench/layouts.sql scratch && dropdb scratch
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET enable_seqscan = off;
SET jit = off;
SET plan_cache_mode = force_generic_plan;
CREATE TEMP TABLE times (layout text, what text, round int, us numeric, wal numeric);

DROP SCHEMA IF EXISTS ours, state_on_run, no_lease, no_rounds, one_table CASCADE;
SELECT format('CREATE SCHEMA %1$I;
               CREATE TABLE %1$I.jobs (LIKE public.jobs INCLUDING ALL);
               CREATE TABLE %1$I.live (LIKE public.live INCLUDING ALL);
               CREATE TABLE %1$I.done (LIKE public.done INCLUDING ALL);
               CREATE TABLE %1$I.runs (LIKE public.runs INCLUDING ALL)', layout)
  FROM unnest(ARRAY['ours', 'state_on_run', 'no_lease', 'no_rounds', 'one_table']) layout \gexec
SELECT format('DROP INDEX %I.%I', n.nspname, c.relname)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'no_lease' AND pg_get_indexdef(i.indexrelid) LIKE '%(shard, lease_until)%'
    OR n.nspname = 'no_rounds' AND pg_get_indexdef(i.indexrelid) LIKE '%(shard, team, priority, due_at%' \gexec
ALTER TABLE state_on_run.runs ADD team text, ADD job_state text, ADD reason text, ADD failures int;
CREATE INDEX ON state_on_run.runs (team, job_state, job_id) WHERE job_state IS NOT NULL;
-- The definition and where it stands in one row.
DROP TABLE one_table.jobs, one_table.done;
ALTER TABLE one_table.live ADD name text, ADD spec json, ADD payload bytea, ADD created_at timestamptz,
    ADD reason text, ADD finished_at timestamptz, DROP CONSTRAINT live_state_check;

\set spec '''{"target":{"url":"http://127.0.0.1:9000/work","method":"POST","headers":[]},"content_type":"application/json","json":true,"timeout_ms":30000,"completion":"response","retry":{"max_retries":3}}'''
CREATE FUNCTION pg_temp.steps(layout text) RETURNS text[] LANGUAGE sql AS $$
SELECT CASE WHEN layout = 'one_table' THEN ARRAY[
    $q$INSERT INTO one_table.live (shard, job_id, team, queue, state, priority, due_at, updated_at, spec, payload, created_at)
       SELECT part, id, 'acme', 'default', 'PENDING', 5, at, at, asked, body, at FROM unnest(ids) id$q$,
    $q$UPDATE one_table.live SET state = 'RUNNING', attempt = 1, fence = 1, lease_until = at, puller = 'p', claimed_at = at,
              updated_at = at WHERE shard = part AND job_id = ANY(ids)$q$,
    $q$WITH ended AS (UPDATE one_table.live SET state = 'SUCCESS', lease_until = NULL, finished_at = at, updated_at = at
                       WHERE shard = part AND job_id = ANY(ids))
       INSERT INTO one_table.runs (shard, job_id, fence, attempt, state, puller, claimed_at, sent_at, finished_at, http_status)
       SELECT part, id, 1, 1, 'SUCCESS', 'p', at, at, at, 200 FROM unnest(ids) id$q$]
ELSE ARRAY[
    format($q$WITH l AS (INSERT INTO %1$I.live (shard, job_id, team, queue, state, priority, due_at, updated_at)
                         SELECT part, id, 'acme', 'default', 'PENDING', 5, at, at FROM unnest(ids) id)
       INSERT INTO %1$I.jobs (shard, job_id, team, queue, spec, payload, due_at, priority, created_at)
       SELECT part, id, 'acme', 'default', asked, body, at, 5, at FROM unnest(ids) id$q$, layout),
    format($q$UPDATE %I.live SET state = 'RUNNING', attempt = 1, fence = 1, lease_until = at, puller = 'p', claimed_at = at,
              updated_at = at WHERE shard = part AND job_id = ANY(ids)$q$, layout),
    CASE WHEN layout = 'state_on_run' THEN
    $q$WITH gone AS (DELETE FROM state_on_run.live WHERE shard = part AND job_id = ANY(ids))
       INSERT INTO state_on_run.runs (shard, job_id, fence, attempt, state, puller, claimed_at, sent_at, finished_at, http_status,
                                      team, job_state, failures)
       SELECT part, id, 1, 1, 'SUCCESS', 'p', at, at, at, 200, 'acme', 'SUCCESS', 0 FROM unnest(ids) id$q$
    ELSE format($q$WITH gone AS (DELETE FROM %1$I.live WHERE shard = part AND job_id = ANY(ids)),
             d AS (INSERT INTO %1$I.done (shard, job_id, team, state, attempt, failures, fence, finished_at)
                   SELECT part, id, 'acme', 'SUCCESS', 1, 0, 1, at FROM unnest(ids) id)
       INSERT INTO %1$I.runs (shard, job_id, fence, attempt, state, puller, claimed_at, sent_at, finished_at, http_status)
       SELECT part, id, 1, 1, 'SUCCESS', 'p', at, at, at, 200 FROM unnest(ids) id$q$, layout) END] END
$$;

-- One procedure for each layout, so that its plans stay cached.
SELECT format($format$
CREATE PROCEDURE %1$I.go(round int, batches int) LANGUAGE plpgsql AS $$
DECLARE
    part int;
    ids uuid[];
    at timestamptz;
    began timestamptz;
    wal pg_lsn;
    spent interval[] := array_fill(interval '0 s', ARRAY[3]);
    bytes numeric[] := array_fill(0::numeric, ARRAY[3]);
    asked json := %2$L;
    body bytea := repeat('p', 100)::bytea;
    all_shards int[] := ARRAY(SELECT shard FROM public.shards ORDER BY shard);
BEGIN
    FOR batch IN 1..batches LOOP
        part := all_shards[1 + batch %% 64];
        at := clock_timestamp();
        -- In the order of time, as ids are.
        ids := ARRAY(SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n), 3, '0')
                             || '8' || right(md5(random()::text), 12) || lpad(to_hex(part), 3, '0'))::uuid
                       FROM generate_series(1, 200) n);
        COMMIT;
        began := clock_timestamp(); wal := pg_current_wal_insert_lsn();
        %3$s;
        COMMIT;
        spent[1] := spent[1] + (clock_timestamp() - began); bytes[1] := bytes[1] + (pg_current_wal_insert_lsn() - wal);
        began := clock_timestamp(); wal := pg_current_wal_insert_lsn();
        %4$s;
        COMMIT;
        spent[2] := spent[2] + (clock_timestamp() - began); bytes[2] := bytes[2] + (pg_current_wal_insert_lsn() - wal);
        began := clock_timestamp(); wal := pg_current_wal_insert_lsn();
        %5$s;
        COMMIT;
        spent[3] := spent[3] + (clock_timestamp() - began); bytes[3] := bytes[3] + (pg_current_wal_insert_lsn() - wal);
    END LOOP;
    INSERT INTO pg_temp.times
    SELECT %1$L, w.what, round, extract(epoch FROM spent[w.nth]) * 1e6 / batches / 200, bytes[w.nth] / batches / 200
      FROM unnest(ARRAY['1 register', '2 claim', '3 settle']) WITH ORDINALITY w(what, nth);
    COMMIT;
END $$
$format$, layout, :spec, s[1], s[2], s[3])
  FROM unnest(ARRAY['ours', 'state_on_run', 'no_lease', 'no_rounds', 'one_table']) layout, pg_temp.steps(layout) s \gexec

-- The first round warms up. Vacuum comes by between rounds, as autovacuum does.
SELECT format('CALL %I.go(%s, %s)', layout, round, 64),
       format('VACUUM %I.live', layout)
  FROM generate_series(0, 7) round, unnest(ARRAY['ours', 'state_on_run', 'no_lease', 'no_rounds', 'one_table']) layout
 ORDER BY round, md5(layout || round) \gexec
\pset footer off
SELECT layout, round(sum(us) FILTER (WHERE what LIKE '1%'), 1) AS register_us, round(sum(us) FILTER (WHERE what LIKE '2%'), 1) AS claim_us,
       round(sum(us) FILTER (WHERE what LIKE '3%'), 1) AS settle_us, round(sum(us), 1) AS all_us,
       round(sum(us) / sum(sum(us)) FILTER (WHERE layout = 'ours') OVER (), 2) AS to_ours, round(sum(wal)) AS wal_bytes
  FROM (SELECT layout, what, percentile_cont(0.5) WITHIN GROUP (ORDER BY us)::numeric AS us,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY wal)::numeric AS wal
          FROM times WHERE round > 0 GROUP BY layout, what) m
 GROUP BY layout
 ORDER BY all_us;
DROP SCHEMA ours, state_on_run, no_lease, no_rounds, one_table CASCADE;
