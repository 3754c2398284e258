-- Who and what: people, instances, agents, keys, the audit trail, and the few
-- things that replicas share. Times are unix microseconds, 0 = never; JSON is
-- TEXT that SQL never looks into.

-- +goose Up
CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL, -- lower case
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    admin         BOOLEAN NOT NULL,
    syncs         BIGINT NOT NULL DEFAULT 0, -- counted up to lock the owner's agents
    created_at    BIGINT NOT NULL,
    disabled_at   BIGINT NOT NULL
);

CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE instances (
    id         TEXT PRIMARY KEY,
    owner_id   TEXT NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    last_seen  BIGINT NOT NULL,
    revoked_at BIGINT NOT NULL
);

CREATE INDEX instances_owner ON instances (owner_id, created_at, id);

CREATE TABLE join_tokens (
    hash       BYTEA PRIMARY KEY,
    owner_id   TEXT NOT NULL REFERENCES users (id),
    expires_at BIGINT NOT NULL
);

CREATE INDEX join_tokens_expiry ON join_tokens (expires_at);

CREATE TABLE agents (
    id          TEXT PRIMARY KEY,
    owner_id    TEXT NOT NULL REFERENCES users (id),
    instance_id TEXT NOT NULL, -- the last one that synced it
    name        TEXT NOT NULL,
    slug        TEXT NOT NULL,
    active      BOOLEAN NOT NULL,
    visibility  TEXT NOT NULL,
    mcp_enabled BOOLEAN NOT NULL,
    self_tool   BOOLEAN NOT NULL,
    rate_limit  BIGINT NOT NULL,
    definition  TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    deleted     BOOLEAN NOT NULL
);

-- A deleted agent keeps its row, because messages name it, but not its name.
-- The predicate is a boolean because PostgreSQL, before it has statistics,
-- takes "column = 0" for so rare that it picks the wrong one of these.
CREATE UNIQUE INDEX agents_name ON agents (owner_id, name) WHERE NOT deleted;
CREATE UNIQUE INDEX agents_slug ON agents (owner_id, slug) WHERE NOT deleted;
CREATE INDEX agents_owner ON agents (owner_id, created_at, id) WHERE NOT deleted;
CREATE INDEX agents_visible ON agents (visibility, created_at, id) WHERE NOT deleted;
CREATE INDEX agents_age ON agents (created_at, id) WHERE NOT deleted;

-- Which instances declare an agent; it is active while any does.
CREATE TABLE agent_homes (
    agent_id    TEXT NOT NULL REFERENCES agents (id),
    instance_id TEXT NOT NULL REFERENCES instances (id),
    PRIMARY KEY (agent_id, instance_id)
);

CREATE INDEX agent_homes_instance ON agent_homes (instance_id, agent_id);

CREATE TABLE api_keys (
    id              TEXT PRIMARY KEY,
    hash            BYTEA NOT NULL,
    kind            TEXT NOT NULL,
    owner_id        TEXT NOT NULL REFERENCES users (id),
    agent_id        TEXT NOT NULL, -- '' for a user's key
    name            TEXT NOT NULL,
    prefix          TEXT NOT NULL,
    rate_per_minute BIGINT NOT NULL,
    expires_at      BIGINT NOT NULL,
    revoked_at      BIGINT NOT NULL,
    last_used_at    BIGINT NOT NULL,
    created_at      BIGINT NOT NULL
);

CREATE UNIQUE INDEX api_keys_hash ON api_keys (hash);
CREATE INDEX api_keys_owner ON api_keys (owner_id, created_at, id);
CREATE INDEX api_keys_agent ON api_keys (agent_id, created_at, id) WHERE agent_id <> '';

CREATE TABLE audit (
    id       TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL, -- whose trail it belongs to; '' = the system's
    at       BIGINT NOT NULL,
    actor    TEXT NOT NULL,
    action   TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL
);

CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_owner ON audit (owner_id, at, id);

-- Signatures seen, until their window has passed.
CREATE TABLE nonces (
    key_id     TEXT NOT NULL,
    nonce      TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (key_id, nonce)
);

CREATE INDEX nonces_expiry ON nonces (expires_at);

CREATE TABLE secrets (
    name  TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE nodes (
    id        TEXT PRIMARY KEY,
    route_url TEXT NOT NULL,
    seen_at   BIGINT NOT NULL
);

-- +goose Down
DROP TABLE nodes;
DROP TABLE secrets;
DROP TABLE nonces;
DROP TABLE audit;
DROP TABLE api_keys;
DROP TABLE agent_homes;
DROP TABLE agents;
DROP TABLE join_tokens;
DROP TABLE instances;
DROP TABLE users;
