-- How much may be taken in a day or a month. What a budget has been drawn on stands
-- in its row, from which nodes draw shares; what was taken is counted from the
-- record of calls and from usage, and nobody keeps it a second time.

-- +goose Up
CREATE TABLE budgets (
    id         TEXT PRIMARY KEY,
    owner_id   TEXT NOT NULL, -- who set it, and is asked when it is used up
    kind       TEXT NOT NULL, -- what it is for: agent, key, app or user
    subject    TEXT NOT NULL, -- the id of that
    unit       TEXT NOT NULL, -- calls, tokens or usd
    period     TEXT NOT NULL, -- day or month
    most       BIGINT NOT NULL, -- usd: in millionths
    warn_at    BIGINT NOT NULL, -- percent; 0 = never
    ask        BOOLEAN NOT NULL, -- the owner, instead of refusing
    created_at BIGINT NOT NULL,

    began      BIGINT NOT NULL, -- the period that the rest is about
    drawn      BIGINT NOT NULL, -- taken, or in the hands of nodes that may
    drawn_at   BIGINT NOT NULL,
    took       BIGINT NOT NULL, -- by the last draw
    per_call   BIGINT NOT NULL, -- what one call takes, as far as is known; 0 = not at all
    counted    BIGINT NOT NULL, -- calls up to counted_to, which retention may have deleted since
    counted_to BIGINT NOT NULL, -- a calls.Key
    warned     BOOLEAN NOT NULL,
    beyond     BOOLEAN NOT NULL -- the owner lets it go on until the period ends
);
CREATE UNIQUE INDEX budgets_of_subject ON budgets (kind, subject, unit, period);
CREATE INDEX budgets_of_owner ON budgets (owner_id, id);
CREATE INDEX routes_of_credential ON routes (credential);

-- +goose Down
DROP INDEX routes_of_credential;
DROP TABLE budgets;
