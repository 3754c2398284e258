-- What agents did on their way to an answer, as they told with it.

-- +goose Up
CREATE TABLE call_steps (
    n     BIGINT PRIMARY KEY, -- calls.n
    steps TEXT NOT NULL -- JSON: a list of beeos.Step
);

-- +goose Down
DROP TABLE call_steps;
