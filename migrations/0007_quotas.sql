-- Quotas of teams: what each may use of the installation. The limits themselves stand in
-- teams.settings; here is what the processes share to keep to them. A team without a quota has no row.
-- Small, keyed by team: on Citus reference tables.

-- A rate's bucket: when it will be full again, in microseconds since 1970. Processes lend writes out
-- of it in blocks, so it is updated some ten times a second for a busy team. The free space keeps
-- those updates within their page.
CREATE TABLE quota_rates (
    team       text   PRIMARY KEY,
    full_at_us bigint NOT NULL
) WITH (fillfactor = 50);

-- Locked by whoever counts what a team has of something and adds to it in the same transaction.
CREATE TABLE quota_gates (
    team  text NOT NULL,
    quota text NOT NULL, -- domain::quota::Quota
    PRIMARY KEY (team, quota)
);

-- The teams with quotas of their own, which every process reads each second.
CREATE INDEX teams_quotas ON teams (team) WHERE settings -> 'quotas' IS NOT NULL;
