-- Which request repeats which. Calls that nobody has replayed have no row.

-- +goose Up
CREATE TABLE replays (
    replay   TEXT PRIMARY KEY, -- a request's id
    original TEXT NOT NULL, -- likewise
    at       BIGINT NOT NULL
);

CREATE INDEX replays_of ON replays (original, at);

-- +goose Down
DROP TABLE replays;
