-- Which request repeats which. Calls that nobody has replayed have no row.

-- +goose Up
CREATE TABLE replays (
    replay   BYTEA PRIMARY KEY, -- a request's id, as in calls.turn
    original BYTEA NOT NULL, -- likewise
    at       BIGINT NOT NULL
);

CREATE INDEX replays_of ON replays (original, at);

-- +goose Down
DROP TABLE replays;
