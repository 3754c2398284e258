-- What a built-in agent has done so far for a request, so that whoever gets the
-- request after a crash goes on with it and makes no tool call a second time.

-- +goose Up
CREATE TABLE builtin_steps (
    turn       TEXT NOT NULL,
    step       BIGINT NOT NULL, -- counts how often the model was asked
    call       BIGINT NOT NULL, -- 0 = what the model said; else which of its tool calls
    builtin_id TEXT NOT NULL REFERENCES builtin_agents (id),
    done       BOOLEAN NOT NULL, -- FALSE = begun, and nobody knows how it ended
    content    TEXT NOT NULL, -- JSON: the model's words and calls, or the tool's answer
    created_at BIGINT NOT NULL,
    PRIMARY KEY (turn, step, call)
);

CREATE INDEX builtin_steps_agent ON builtin_steps (builtin_id);
CREATE INDEX builtin_steps_age ON builtin_steps (created_at);

-- +goose Down
DROP TABLE builtin_steps;
