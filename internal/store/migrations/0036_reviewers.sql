-- Who decides about a tool call: the people whom its rule names, how many of them
-- have to say yes, and what those have said who did; and yeses that are for more
-- than one call. approval_rules.review: as JSON, '' = the owner decides.

-- +goose Up
ALTER TABLE approval_rules ADD COLUMN review TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN need BIGINT NOT NULL DEFAULT 1; -- how many people have to say yes
ALTER TABLE approvals ADD COLUMN yes BIGINT NOT NULL DEFAULT 0; -- how many have; counted where one is not enough
ALTER TABLE approvals ADD COLUMN only_reviewers BOOLEAN NOT NULL DEFAULT FALSE; -- owner and admins do not decide as such
ALTER TABLE approvals ADD COLUMN barred TEXT NOT NULL DEFAULT ''; -- the user whom the call is made for, where the rule keeps them out
ALTER TABLE approvals ADD COLUMN grant_id TEXT NOT NULL DEFAULT ''; -- what answered it; '' = a person, or nobody

CREATE TABLE approval_reviewers (
    approval TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL,
    since    BIGINT NOT NULL, -- from when on they are asked: second reviewers come in at half time
    agent_id TEXT NOT NULL, -- the rule that names them
    skill    TEXT NOT NULL,
    tool     TEXT NOT NULL,
    PRIMARY KEY (approval, user_id)
);
CREATE INDEX approval_reviewers_user ON approval_reviewers (user_id, approval);
CREATE INDEX approval_reviewers_rule ON approval_reviewers (agent_id, skill, tool);

CREATE TABLE approval_votes (
    approval TEXT NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL, -- who said yes
    via      TEXT NOT NULL,
    voted_at BIGINT NOT NULL,
    PRIMARY KEY (approval, user_id)
);

CREATE TABLE approval_grants (
    id             TEXT PRIMARY KEY,
    owner_id       TEXT NOT NULL, -- the agent's
    agent_id       TEXT NOT NULL,
    caller         TEXT NOT NULL, -- a principal
    channel        TEXT NOT NULL, -- the conversation that it is for, with any arguments; '' = these arguments, anywhere
    skill          TEXT NOT NULL,
    tool           TEXT NOT NULL,
    hash           BYTEA NOT NULL, -- SHA-256 of the arguments
    policy_version TEXT NOT NULL, -- the rule that it counts under
    approval       TEXT NOT NULL, -- the one that it was given with
    given_by       TEXT NOT NULL, -- a user
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    ended_at       BIGINT NOT NULL, -- it was revoked, or its rule has changed; 0 = neither
    ended_by       TEXT NOT NULL -- a principal, or system
);
CREATE INDEX approval_grants_call ON approval_grants (agent_id, skill, tool, expires_at) WHERE ended_at = 0;
CREATE INDEX approval_grants_owner ON approval_grants (owner_id, expires_at) WHERE ended_at = 0;
CREATE INDEX approval_grants_giver ON approval_grants (given_by, expires_at) WHERE ended_at = 0;
CREATE INDEX approval_grants_age ON approval_grants (expires_at);

-- +goose Down
DROP TABLE approval_grants;
DROP TABLE approval_votes;
DROP TABLE approval_reviewers;
ALTER TABLE approvals DROP COLUMN grant_id;
ALTER TABLE approvals DROP COLUMN barred;
ALTER TABLE approvals DROP COLUMN only_reviewers;
ALTER TABLE approvals DROP COLUMN yes;
ALTER TABLE approvals DROP COLUMN need;
ALTER TABLE approval_rules DROP COLUMN review;
