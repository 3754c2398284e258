-- The message log. Times are unix microseconds. Ids start with a timestamp
-- (UUIDv7), so that new rows land next to each other in every index.

-- +goose Up
CREATE TABLE channels (
    id            TEXT PRIMARY KEY,
    agent_id      TEXT NOT NULL,
    owner         TEXT NOT NULL,
    kind          TEXT NOT NULL,
    single_shot   BOOLEAN NOT NULL,
    closed_reason TEXT NOT NULL, -- '' while active
    next_off      BIGINT NOT NULL,
    deadline      BIGINT NOT NULL,
    metadata      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);

-- Retention finds old single-shot channels by id; the others need this.
CREATE INDEX channels_idle ON channels (updated_at) WHERE NOT single_shot;

CREATE TABLE messages (
    channel     TEXT NOT NULL,
    off         BIGINT NOT NULL,
    id          TEXT NOT NULL,
    type        TEXT NOT NULL,
    in_reply_to TEXT NOT NULL,
    terminal    BOOLEAN NOT NULL,
    state       TEXT NOT NULL,
    stop_reason TEXT NOT NULL,
    publisher   TEXT NOT NULL,
    body        TEXT NOT NULL,
    parts       TEXT NOT NULL,
    payload     TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (channel, off)
);

-- Exactly one terminal reply per request: whoever inserts first has won.
CREATE UNIQUE INDEX messages_terminal ON messages (in_reply_to) WHERE terminal;

CREATE TABLE idempotency (
    scope       TEXT NOT NULL, -- credential and agent
    key         TEXT NOT NULL,
    turn        TEXT NOT NULL,
    channel     TEXT NOT NULL,
    fingerprint BYTEA NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
);

CREATE INDEX idempotency_expiry ON idempotency (expires_at);

-- One row per request that has no terminal reply yet. The table holds work in
-- flight only, so the sweeper may scan it.
CREATE TABLE deliveries (
    turn        TEXT PRIMARY KEY,
    channel     TEXT NOT NULL,
    off         BIGINT NOT NULL,
    agent_id    TEXT NOT NULL,
    lane        TEXT NOT NULL, -- '' = may run beside anything
    seq         BIGINT NOT NULL, -- order within the lane
    leased      BOOLEAN NOT NULL,
    attempt     BIGINT NOT NULL,
    lease_until BIGINT NOT NULL, -- not leased: since when it waits
    started     BOOLEAN NOT NULL,
    mode        TEXT NOT NULL,
    redelivery  TEXT NOT NULL,
    deadline    BIGINT NOT NULL
);

CREATE UNIQUE INDEX deliveries_one_flight ON deliveries (lane) WHERE leased AND lane <> '';
CREATE INDEX deliveries_waiting ON deliveries (agent_id, seq) WHERE NOT leased;

-- +goose Down
DROP TABLE deliveries;
DROP TABLE idempotency;
DROP TABLE messages;
DROP TABLE channels;
