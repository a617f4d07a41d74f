-- The tables of the main job. Forward only; run under an advisory lock by `axle migrate up`.
--
-- Every key of a hot table begins with `shard`: a small integer that is data (a row of `shards`),
-- so that the same statements run on one PostgreSQL and on a Citus cluster. A job is in `live` or
-- in `done`, never in both, never in neither.

-- Fixed at installation. The numbers are the smallest integers of 64 equal ranges of PostgreSQL's
-- hashint4, so that on Citus each is a shard of its own; code reads them and never computes them.
CREATE TABLE shards (
    shard int PRIMARY KEY
);
INSERT INTO shards (shard) VALUES
    (60),(8),(82),(1),(31),(88),(79),(24),(10),(92),(48),(109),(5),(112),(50),(166),
    (4),(7),(17),(172),(16),(96),(170),(85),(36),(89),(19),(0),(37),(45),(101),(3),
    (113),(52),(62),(99),(136),(168),(46),(28),(6),(66),(70),(21),(83),(39),(43),(13),
    (2),(351),(27),(95),(58),(149),(41),(179),(9),(80),(59),(22),(12),(11),(44),(18);

-- One row. `callback_key` signs the tokens in callback URLs; `clock_shift_us` lets tests and
-- `axle dev` travel in time, all processes together.
CREATE TABLE installation (
    one            boolean PRIMARY KEY DEFAULT true CHECK (one),
    callback_key   bytea   NOT NULL,
    clock_shift_us bigint  NOT NULL DEFAULT 0
);

-- What was asked. Written once; an owner's PATCH before the claim is the exception.
CREATE TABLE jobs (
    shard          int         NOT NULL,
    job_id         uuid        NOT NULL,
    team           text        NOT NULL,
    queue          text        NOT NULL,
    name           text,
    spec           json        NOT NULL, -- domain::job::Spec: target, completion, timeouts, retry
    payload        bytea       NOT NULL, -- byte for byte as it came and as it is sent
    due_at         timestamptz NOT NULL, -- when it was to run first
    priority       smallint    NOT NULL,
    start_deadline timestamptz,
    unique_key     text,
    owner_service  text,
    tags           jsonb,
    rerun_of       uuid,
    schedule_id    uuid,
    version        int         NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    PRIMARY KEY (shard, job_id)
);

-- Where each unfinished job stands: the only hot table that is updated, as small as the
-- unfinished work. While a run goes on, this row is its record.
CREATE TABLE live (
    shard          int         NOT NULL,
    job_id         uuid        NOT NULL,
    team           text        NOT NULL,
    queue          text        NOT NULL,
    state          text        NOT NULL CHECK (state IN ('WAITING', 'PENDING', 'RETRY_WAIT', 'RUNNING')),
    held           boolean     NOT NULL DEFAULT false, -- passed over: its queue is paused
    priority       smallint    NOT NULL,
    due_at         timestamptz NOT NULL, -- when the next run may start
    start_deadline timestamptz,
    unique_key     text,
    attempt        int         NOT NULL DEFAULT 0, -- charged so far, a running one included
    failures       int         NOT NULL DEFAULT 0, -- calls that could not reach the target
    lost           int         NOT NULL DEFAULT 0, -- runs lost in a row
    fence          int         NOT NULL DEFAULT 0, -- grows with every claim; (job, fence) is the run
    lease_until    timestamptz,          -- until when the run may stay silent
    puller         text,
    claimed_at     timestamptz,
    sent_at        timestamptz,
    accepted_at    timestamptz,
    heartbeat_at   timestamptz,
    deadline_at    timestamptz,          -- when an accepted run times out
    http_status    int,
    progress       json,
    updated_at     timestamptz NOT NULL,
    PRIMARY KEY (shard, job_id),
    CONSTRAINT lease_iff_running CHECK ((state = 'RUNNING') = (lease_until IS NOT NULL)),
    CONSTRAINT accepted_only_while_running CHECK (accepted_at IS NULL OR state = 'RUNNING'),
    CONSTRAINT counters_are_not_negative CHECK (attempt >= 0 AND failures >= 0 AND lost >= 0)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

-- The claim: per shard and priority, by due time.
CREATE INDEX live_due ON live (shard, priority, due_at) WHERE state IN ('PENDING', 'RETRY_WAIT') AND NOT held;
-- The sweep of silent runs.
--
-- Predicates here and below also keep an index away from statements that do not say as much: `live`
-- is vacuumed while it is all but empty, and by such statistics any usable index looks as good as
-- the primary key, even by its second column alone. Only `lease_until <= …` implies this one, only
-- `team = …` the one on team.
CREATE INDEX live_lease ON live (shard, lease_until) WHERE lease_until IS NOT NULL;
-- The sweep of jobs that did not start in time.
CREATE INDEX live_start_deadline ON live (shard, start_deadline)
    WHERE state IN ('PENDING', 'RETRY_WAIT') AND start_deadline IS NOT NULL;
-- The row itself is the lock of its unique key, so no crash can leave one behind (bug B079).
CREATE UNIQUE INDEX live_unique_key ON live (shard, team, unique_key) WHERE unique_key IS NOT NULL;
-- Resuming a paused queue.
CREATE INDEX live_held ON live (shard, team, queue) WHERE held;
-- Lists.
CREATE INDEX live_team ON live (team, state, job_id) WHERE team IS NOT NULL;

-- How each finished job ended. Inserted once, never updated: a finished job is never re-opened.
CREATE TABLE done (
    shard       int         NOT NULL,
    job_id      uuid        NOT NULL,
    team        text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('SUCCESS', 'FAILED', 'CANCELLED')),
    reason      text        CHECK ((reason IS NULL) = (state = 'SUCCESS')),
    attempt     int         NOT NULL,
    failures    int         NOT NULL,
    fence       int         NOT NULL,
    finished_at timestamptz NOT NULL,
    PRIMARY KEY (shard, job_id)
);
CREATE INDEX done_team ON done (team, state, job_id) WHERE team IS NOT NULL;

-- One row per ended run, inserted by whoever ended it. Unique (job, run) is the primary key.
CREATE TABLE runs (
    shard              int         NOT NULL,
    job_id             uuid        NOT NULL,
    fence              int         NOT NULL,
    attempt            int         NOT NULL,
    state              text        NOT NULL CHECK (state IN ('SUCCESS', 'FAILED', 'TIMEOUT', 'LOST', 'CANCELLED')),
    puller             text,
    claimed_at         timestamptz,
    sent_at            timestamptz,
    accepted_at        timestamptz,
    heartbeat_at       timestamptz,
    deadline_at        timestamptz,
    finished_at        timestamptz NOT NULL,
    retry_at           timestamptz, -- when the next run was due, if one follows
    http_status        int,
    error_class        text,
    error_message      text,
    response_headers   json,
    response_body      bytea,
    response_truncated boolean     NOT NULL DEFAULT false,
    result             bytea,
    progress           json,
    PRIMARY KEY (shard, job_id, fence)
);

-- Only what the other rows don't tell. A kind that a target can repeat without bound is one row
-- with a count, so the table is bounded by the runs.
CREATE TABLE events (
    shard    int         NOT NULL,
    job_id   uuid        NOT NULL,
    fence    int         NOT NULL,
    kind     text        NOT NULL,
    count    int         NOT NULL DEFAULT 1,
    first_at timestamptz NOT NULL,
    last_at  timestamptz NOT NULL,
    detail   text,
    PRIMARY KEY (shard, job_id, fence, kind)
);

-- Answers kept for repeats of a request, written in the transaction that did the work.
CREATE TABLE idempotency (
    shard       int         NOT NULL,
    scope       bytea       NOT NULL, -- SHA-256 of team, principal kind, method, route and key
    fingerprint bytea       NOT NULL, -- SHA-256 of route and body
    status      smallint,             -- the answer; null only inside the transaction that makes it
    location    text,
    deduplicated boolean    NOT NULL DEFAULT false,
    body        bytea,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (shard, scope)
);
CREATE INDEX idempotency_expires ON idempotency (shard, expires_at);

-- A team's queues that somebody has changed; a queue without a row has the defaults. Small and
-- rarely written: on Citus a reference table.
CREATE TABLE queues (
    team         text        NOT NULL,
    name         text        NOT NULL,
    paused       boolean     NOT NULL DEFAULT false,
    pause_reason text,
    holds        boolean     NOT NULL DEFAULT false, -- jobs of it may have been set aside
    description  text,
    version      int         NOT NULL DEFAULT 1,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (team, name)
);

-- Where every job stands, unfinished or finished: the one way to read it.
CREATE VIEW standing AS
    SELECT shard, job_id, team, state, NULL::text AS reason, attempt, failures, fence, held,
           CASE WHEN state IN ('PENDING', 'RETRY_WAIT') THEN due_at END AS next_attempt_at,
           updated_at, NULL::timestamptz AS finished_at, claimed_at, accepted_at, deadline_at, progress
      FROM live
    UNION ALL
    SELECT shard, job_id, team, state, reason, attempt, failures, fence, false,
           NULL, finished_at, finished_at, NULL, NULL, NULL, NULL
      FROM done;
