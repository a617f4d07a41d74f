-- Teams, the people in them, and how people sign in. Small and rarely written: on Citus reference
-- tables. A team without a row has the defaults: outside issuers may name any.

CREATE TABLE teams (
    team           text        PRIMARY KEY, -- its slug
    name           text        NOT NULL,    -- for people
    suspended_at   timestamptz,
    suspend_reason text,
    settings       json        NOT NULL,    -- domain::team::Settings
    version        int         NOT NULL DEFAULT 1,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL
);
CREATE INDEX teams_suspended ON teams (team) WHERE suspended_at IS NOT NULL;

CREATE TABLE users (
    user_id            uuid        PRIMARY KEY,
    email              text        NOT NULL,
    name               text        NOT NULL,
    password           text        NOT NULL, -- argon2id, in the PHC string format
    installation_admin boolean     NOT NULL,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE members (
    team      text        NOT NULL,
    user_id   uuid        NOT NULL,
    role      text        NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'writer', 'viewer')),
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (team, user_id)
);
CREATE INDEX members_user ON members (user_id);

-- Invitations that nobody has accepted yet.
CREATE TABLE invitations (
    hash       bytea       PRIMARY KEY, -- SHA-256 of the token, which is shown once
    team       text        NOT NULL,
    email      text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'writer', 'viewer')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX invitations_team ON invitations (team, expires_at);

-- One sign-in of a person to a team: a family of refresh tokens, of which only the newest is good.
CREATE TABLE sessions (
    session_id uuid        PRIMARY KEY,
    user_id    uuid        NOT NULL,
    team       text        NOT NULL,
    hash       bytea       NOT NULL, -- SHA-256 of the newest refresh token
    epoch      int         NOT NULL, -- access tokens name it; a new one makes the old ones void
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, team);
CREATE INDEX sessions_expires ON sessions (expires_at);

-- Attempts to sign in, per e-mail and per address, within the present window.
CREATE TABLE tries (
    scope     bytea       PRIMARY KEY, -- SHA-256 of what is counted
    window_at timestamptz NOT NULL,
    count     int         NOT NULL
);
CREATE INDEX tries_window ON tries (window_at);
