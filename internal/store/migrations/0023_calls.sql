-- The record of calls that have ended: small numbers alone, so that it costs a
-- call next to nothing and can be looked through by the million. What was said
-- stays in the messages.

-- +goose Up

-- Who called which tool of which agent over which surface. There are few of
-- them; a call names one by number.
CREATE TABLE routes (
    id       BIGINT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    caller   TEXT NOT NULL, -- a principal
    surface  TEXT NOT NULL,
    tool     TEXT NOT NULL, -- '' = the agent itself
    seen_at  BIGINT NOT NULL -- when a call of it last ended, give or take a minute
);

CREATE UNIQUE INDEX routes_named ON routes (agent_id, caller, surface, tool);
CREATE INDEX routes_of_caller ON routes (caller);

CREATE TABLE calls (
    n       BIGINT PRIMARY KEY, -- by when it began; calls.Key of the request
    turn    BYTEA NOT NULL, -- the request's id, 16 bytes
    off     BIGINT NOT NULL, -- of the request in its channel
    route   BIGINT NOT NULL,
    outcome BIGINT NOT NULL, -- 0 = the agent replied
    took    BIGINT NOT NULL -- microseconds
);

CREATE INDEX calls_of_route ON calls (route, n);

-- Calls that went wrong and calls that took long are looked for more often than
-- they happen.
CREATE INDEX calls_not_ok ON calls (n) WHERE outcome <> 0;
CREATE INDEX calls_not_ok_of_route ON calls (route, n) WHERE outcome <> 0;
CREATE INDEX calls_slow ON calls (n) WHERE took >= 1000000;
CREATE INDEX calls_slow_of_route ON calls (route, n) WHERE took >= 1000000;
CREATE INDEX calls_very_slow ON calls (n) WHERE took >= 10000000;

-- How a request came to its end, line by line (ledger/trail.go): kept with the
-- delivery while it is under way, then with its terminal reply.
ALTER TABLE deliveries ADD COLUMN surface TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN trail TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN trail TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE messages DROP COLUMN trail;
ALTER TABLE deliveries DROP COLUMN trail;
ALTER TABLE deliveries DROP COLUMN tool;
ALTER TABLE deliveries DROP COLUMN surface;
DROP TABLE calls;
DROP TABLE routes;
