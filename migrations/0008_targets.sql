-- Targets that pullers hold calls back from: what each puller last said of each. Written when a
-- breaker moves and every few seconds while it is not closed, never for a call. Small: on Citus a
-- reference table. A row is good until `expires_at`, so that a puller that died is soon silent.
CREATE TABLE throttled_targets (
    team        text        NOT NULL,
    target      text        NOT NULL, -- host:port, as the breaker knows it
    puller      text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    since       timestamptz NOT NULL, -- when it was last left in peace
    error_class text,                 -- of the last call that failed; null: none has
    error       text,
    http_status int,
    probe_at    timestamptz,          -- when the next call tries; null: one is on its way, or it is closed
    in_flight   int         NOT NULL,
    ceiling     int         NOT NULL,
    expires_at  timestamptz NOT NULL,
    PRIMARY KEY (team, target, puller)
);
