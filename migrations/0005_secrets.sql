-- Secrets, encrypted: without AXLE_SECRET_KEY the database says nothing of them.

-- One row, made by the first start with a secret key. What is sealed is the key of the hashes that
-- stand in a secret's place. A start whose secret key does not open it is refused, so that no secret
-- is ever sealed with a key that the others do not have.
CREATE TABLE vault (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    sealed text    NOT NULL -- engine::secrets: the id of the key, a dot, nonce and ciphertext
);

-- What calls are signed with: one set for a team, and one for each queue that has its own. Small and
-- rarely written: on Citus a reference table.
CREATE TABLE signing_secrets (
    team       text        NOT NULL,
    secret_id  uuid        NOT NULL,
    queue      text        NOT NULL, -- empty: of the whole team
    sealed     text        NOT NULL,
    mask       text        NOT NULL, -- a short keyed hash
    created_by text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,          -- from then on it signs nothing; null: it is the current one
    PRIMARY KEY (team, secret_id)
);
CREATE UNIQUE INDEX signing_secrets_current ON signing_secrets (team, queue) WHERE expires_at IS NULL;
