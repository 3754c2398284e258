-- Built-in agents, and what their skill servers showed and were given: the tool
-- definitions that a person knows, tokens, and consents under way. What is
-- sealed is encrypted before it comes here.

-- +goose Up
CREATE TABLE builtin_agents (
    id         TEXT PRIMARY KEY REFERENCES instances (id),
    owner_id   TEXT NOT NULL REFERENCES users (id),
    name       TEXT NOT NULL, -- the agent's
    definition TEXT NOT NULL, -- JSON, without secrets
    sealed     BYTEA NOT NULL, -- the identity's private key and the secrets of the skills
    stopped    BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX builtin_agents_name ON builtin_agents (owner_id, name);

-- A tool as it was when it was first seen or last accepted; held is how its
-- server describes it now, when that differs.
CREATE TABLE skill_tools (
    builtin_id TEXT NOT NULL REFERENCES builtin_agents (id),
    skill      TEXT NOT NULL,
    tool       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    held_hash  TEXT NOT NULL, -- '' = nothing is held
    held       TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (builtin_id, skill, tool)
);

CREATE TABLE skill_tokens (
    builtin_id TEXT NOT NULL REFERENCES builtin_agents (id),
    skill      TEXT NOT NULL,
    resource   TEXT NOT NULL,
    issuer     TEXT NOT NULL,
    sealed     BYTEA NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (builtin_id, skill, resource, issuer)
);

CREATE TABLE skill_consents (
    hash       BYTEA PRIMARY KEY, -- of the state that comes back
    builtin_id TEXT NOT NULL REFERENCES builtin_agents (id),
    skill      TEXT NOT NULL,
    sealed     BYTEA NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX skill_consents_expiry ON skill_consents (expires_at);

-- +goose Down
DROP TABLE skill_consents;
DROP TABLE skill_tokens;
DROP TABLE skill_tools;
DROP TABLE builtin_agents;
