-- Schedules: what makes a job at every fire time, and a row for every fire time that was met.

-- A schedule lives in the shard of its team and name, and so do its fires and its jobs: one
-- transaction of one shard makes the job, writes the fire and moves the schedule on.
CREATE TABLE schedules (
    shard         int         NOT NULL,
    schedule_id   uuid        NOT NULL,
    team          text        NOT NULL,
    name          text        NOT NULL,
    plan          json        NOT NULL, -- domain::schedule::doc::ScheduleDoc: times, policies, job
    payload       bytea       NOT NULL,
    state         text        NOT NULL CHECK (state IN ('ACTIVE', 'PAUSED', 'ENDED', 'ERROR')),
    reason        text,                 -- why it is paused, or what is wrong
    accounted_until timestamptz NOT NULL, -- every slot up to here has its row in fires
    next_slot_at  timestamptz,          -- the next slot, one that is skipped by its rule included
    next_fire_at  timestamptz,          -- the next slot that is to make a job
    fires         int         NOT NULL DEFAULT 0, -- jobs made by the timer
    last_fire_at  timestamptz,          -- the newest slot for which the timer made a job
    version       int         NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    PRIMARY KEY (shard, schedule_id),
    CONSTRAINT next_iff_active CHECK ((state = 'ACTIVE') = (next_slot_at IS NOT NULL)),
    CONSTRAINT fire_only_while_active CHECK (state = 'ACTIVE' OR next_fire_at IS NULL)
);
CREATE UNIQUE INDEX schedules_name ON schedules (shard, team, name);
CREATE INDEX schedules_due ON schedules (shard, next_slot_at) WHERE state = 'ACTIVE';
CREATE INDEX schedules_team ON schedules (team, schedule_id);

-- A row for every nominal fire time, whatever came of it. The key is what makes two schedulers, a
-- stepped clock and a repeated transaction harmless: a slot is handled once (bugs B033 to B037).
CREATE TABLE fires (
    shard       int         NOT NULL,
    schedule_id uuid        NOT NULL,
    fire_at     timestamptz NOT NULL, -- nominal; of a manual trigger, the instant it was asked
    outcome     text        NOT NULL CHECK (outcome IN ('fired', 'skipped_overlap', 'skipped_gap',
                    'skipped_calendar', 'skipped_paused', 'missed', 'coalesced')),
    origin      text        NOT NULL CHECK (origin IN ('timer', 'trigger', 'backfill')),
    until       timestamptz,          -- the last of several slots told in one row
    count       int         NOT NULL,
    at_least    boolean     NOT NULL, -- there may be more than count
    job_id      uuid,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (shard, schedule_id, fire_at)
);
-- The few rows that tell several slots at once: a backfill takes its slots out of them.
CREATE INDEX fires_ranges ON fires (shard, schedule_id, fire_at) WHERE until IS NOT NULL;

-- Days on which business rests. Small and rarely written: on Citus a reference table.
CREATE TABLE calendars (
    team       text        NOT NULL,
    name       text        NOT NULL,
    days       json        NOT NULL, -- dates and weekend days
    version    int         NOT NULL DEFAULT 1,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (team, name)
);

-- A job that a schedule made knows which, and for which slot.
ALTER TABLE jobs ADD COLUMN fire_at timestamptz;
ALTER TABLE live ADD COLUMN schedule_id uuid;
CREATE INDEX live_schedule ON live (shard, schedule_id) WHERE schedule_id IS NOT NULL;
-- Jobs that wait for their turn: for the sweep, which finds those whose turn nobody has passed on.
CREATE INDEX live_waiting ON live (shard, schedule_id) WHERE state = 'WAITING';
