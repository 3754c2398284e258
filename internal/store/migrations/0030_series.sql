-- What charts are drawn of: how many calls of an agent ended in five minutes, and in
-- an hour, how, after how long, and what they took of models. A process writes rows of
-- its own, with the whole of what it has counted; who reads adds them up.

-- +goose Up
CREATE TABLE series (
    agent_id TEXT NOT NULL,
    minutes  INTEGER NOT NULL, -- how long the stretch of time is: 5 or 60
    at       BIGINT NOT NULL, -- when it begins: minutes since 1970
    slot     BIGINT NOT NULL, -- drawn by the process whose row it is
    calls    INTEGER NOT NULL,
    problems INTEGER NOT NULL, -- those of them that went wrong
    input    BIGINT NOT NULL, -- tokens
    output   BIGINT NOT NULL,
    micros   BIGINT NOT NULL, -- millionths of a US dollar
    unpriced BIGINT NOT NULL, -- tokens that have no price
    -- How many calls took how long: below 1 ms, below 2 ms, 4 ms and so on, and the last
    -- one all that is left (calls.TookClass).
    t0  INTEGER NOT NULL,
    t1  INTEGER NOT NULL,
    t2  INTEGER NOT NULL,
    t3  INTEGER NOT NULL,
    t4  INTEGER NOT NULL,
    t5  INTEGER NOT NULL,
    t6  INTEGER NOT NULL,
    t7  INTEGER NOT NULL,
    t8  INTEGER NOT NULL,
    t9  INTEGER NOT NULL,
    t10 INTEGER NOT NULL,
    t11 INTEGER NOT NULL,
    t12 INTEGER NOT NULL,
    t13 INTEGER NOT NULL,
    t14 INTEGER NOT NULL,
    t15 INTEGER NOT NULL,
    t16 INTEGER NOT NULL,
    t17 INTEGER NOT NULL,
    t18 INTEGER NOT NULL,
    t19 INTEGER NOT NULL,
    PRIMARY KEY (agent_id, minutes, at, slot)
);

-- What is old is forgotten.
CREATE INDEX series_by_age ON series (minutes, at);

-- +goose Down
DROP TABLE series;
