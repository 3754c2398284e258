-- Tool calls that wait for a person, what was decided about them, and the
-- rules by which people are asked.

-- +goose Up
CREATE TABLE approvals (
    id             TEXT PRIMARY KEY,
    owner_id       TEXT NOT NULL, -- who decides: the agent's owner
    agent_id       TEXT NOT NULL,
    caller         TEXT NOT NULL, -- a principal
    channel        TEXT NOT NULL,
    turn           TEXT NOT NULL,
    skill          TEXT NOT NULL, -- '' = the agent's own
    tool           TEXT NOT NULL,
    arguments      TEXT NOT NULL, -- as the agent sent them, without space between tokens
    hash           BYTEA NOT NULL, -- SHA-256 of arguments
    policy_version TEXT NOT NULL,
    open           BOOLEAN NOT NULL, -- nobody has decided
    state          TEXT NOT NULL, -- pending, approved, rejected, expired, withdrawn
    reason         TEXT NOT NULL,
    decided_by     TEXT NOT NULL, -- a principal, link, or system
    via            TEXT NOT NULL, -- console, rest, link, mcp, conversation
    decided_at     BIGINT NOT NULL,
    spent          BOOLEAN NOT NULL, -- it was used, or is too old to be
    used_by        TEXT NOT NULL, -- the agent's request that it was used for
    used_at        BIGINT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL -- pending: the last moment to decide; approved: to use it
);

-- The same question is asked once, however often its turn is begun.
CREATE UNIQUE INDEX approvals_question ON approvals (turn, skill, tool, hash, policy_version) WHERE NOT spent;
CREATE INDEX approvals_turn ON approvals (turn);
-- Two halves, so that counting what is open never reads what is not.
CREATE INDEX approvals_open ON approvals (owner_id, id) WHERE open;
CREATE INDEX approvals_decided ON approvals (owner_id, id) WHERE NOT open;
CREATE INDEX approvals_age ON approvals (created_at) WHERE NOT open;

CREATE TABLE approval_rules (
    agent_id   TEXT NOT NULL,
    skill      TEXT NOT NULL, -- '' = the agent's own tools
    tool       TEXT NOT NULL, -- '' = all tools of the skill; both '' = the agent's default
    mode       TEXT NOT NULL, -- auto, ask; '' = as if there were no rule
    timeout    BIGINT NOT NULL, -- microseconds, of the agent's default alone; 0 = unset
    version    TEXT NOT NULL, -- another one with every change
    updated_by TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (agent_id, skill, tool)
);

-- +goose Down
DROP TABLE approval_rules;
DROP TABLE approvals;
