-- Who may ask: API keys, and tokens that were revoked before their time. Small and rarely written:
-- on Citus reference tables.

-- API keys. The text is shown once, to whoever made the key; here is its hash.
CREATE TABLE keys (
    key_id       text        PRIMARY KEY, -- the public part of the text: eight characters
    team         text        NOT NULL,
    name         text        NOT NULL,
    role         text        NOT NULL CHECK (role IN ('owner', 'admin', 'operator', 'writer', 'viewer')),
    hash         bytea       NOT NULL CHECK (octet_length(hash) = 32), -- SHA-256 of the text
    expires_at   timestamptz,
    created_by   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    last_used_at timestamptz,              -- to the minute
    revoked_at   timestamptz
);
CREATE INDEX keys_team ON keys (team, created_at, key_id);

-- Tokens that are refused until they expire by themselves, by their `jti` in the team they are of.
-- Every process that serves the API reads what is newer than it knows. The version is taken under
-- the lock of the installation's row, so that it grows in the order of commits and none is missed.
CREATE TABLE revoked_tokens (
    team       text        NOT NULL,
    jti        text        NOT NULL,
    expires_at timestamptz NOT NULL,
    version    bigint      NOT NULL,
    PRIMARY KEY (team, jti)
);
CREATE INDEX revoked_tokens_version ON revoked_tokens (version);
CREATE INDEX revoked_tokens_expires ON revoked_tokens (expires_at);
ALTER TABLE installation ADD COLUMN revocations bigint NOT NULL DEFAULT 0;

-- Who did what to which thing: written in the transaction that did it, never changed. Each entry
-- holds the hash of the one before (domain::audit).
CREATE TABLE audit (
    team       text        NOT NULL,
    seq        bigint      NOT NULL, -- from 1 without gaps
    at         timestamptz NOT NULL,
    kind       text        NOT NULL, -- how the actor came in
    subject    text        NOT NULL,
    credential text,                 -- a key's id, a token's jti
    verb       text        NOT NULL,
    object     text        NOT NULL, -- a path below /v1
    before     text,                 -- JSON, byte for byte as it was hashed
    after      text,
    reason     text,
    address    text,
    request_id text,
    prev_hash  bytea       NOT NULL CHECK (octet_length(prev_hash) = 32),
    hash       bytea       NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (team, seq)
);
CREATE INDEX audit_object ON audit (team, object, seq);

-- The newest entry of each team, by which a log that was cut off is told from a short one. Its row
-- is the lock of whoever appends.
CREATE TABLE audit_heads (
    team text   PRIMARY KEY,
    seq  bigint NOT NULL,
    hash bytea  NOT NULL CHECK (octet_length(hash) = 32)
);
