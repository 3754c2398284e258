-- What answers took of models, added up by day as it happens. A writer adds to rows
-- of its own, so that replicas never wait for each other; who reads adds them up.

-- +goose Up
CREATE TABLE usage (
    route    BIGINT NOT NULL, -- routes.id
    day      BIGINT NOT NULL, -- since 1970, UTC
    model    TEXT NOT NULL,
    slot     BIGINT NOT NULL, -- whose row it is: one writer of one process
    answers  BIGINT NOT NULL,
    input    BIGINT NOT NULL, -- tokens
    output   BIGINT NOT NULL,
    micros   BIGINT NOT NULL, -- millionths of a US dollar
    unpriced BIGINT NOT NULL, -- tokens that have no price
    PRIMARY KEY (route, day, model, slot)
);

-- +goose Down
DROP TABLE usage;
