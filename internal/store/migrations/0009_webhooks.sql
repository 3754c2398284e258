-- Who wants to be told how a task goes, and what is to be told. A webhook
-- remembers how far in the log it has looked; what it finds there becomes
-- deliveries in the same transaction, so that nothing is told twice or never.

-- +goose Up
CREATE TABLE webhooks (
    id         TEXT PRIMARY KEY,
    turn       TEXT NOT NULL, -- the task: a request of the ledger
    channel    TEXT NOT NULL,
    owner      TEXT NOT NULL, -- whose it is: a caller's principal
    renderer   TEXT NOT NULL, -- the form of what is sent
    url        TEXT NOT NULL,
    sealed     BYTEA NOT NULL, -- token and secrets, encrypted
    has_secret BOOLEAN NOT NULL,
    seen       BIGINT NOT NULL, -- offset of the last message that was looked at
    status     TEXT NOT NULL, -- of the task, as it was told last
    events     BIGINT NOT NULL, -- deliveries made so far
    watching   BOOLEAN NOT NULL, -- something may still happen
    disabled   BOOLEAN NOT NULL, -- its receiver wants no more
    created_at BIGINT NOT NULL,
    closed_at  BIGINT NOT NULL, -- since when it does not watch; 0 = it does
    UNIQUE (turn, renderer, url)
);

CREATE INDEX webhooks_watching ON webhooks (created_at) WHERE watching;
CREATE INDEX webhooks_closed ON webhooks (closed_at) WHERE NOT watching;

CREATE TABLE webhook_deliveries (
    id           TEXT PRIMARY KEY,
    webhook_id   TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    seq          BIGINT NOT NULL, -- order within the webhook
    payload      BYTEA NOT NULL, -- what is sent, every time the same
    status       TEXT NOT NULL, -- pending, failed (tried, will be again), succeeded, dead_letter
    attempts     BIGINT NOT NULL, -- made so far
    tries        BIGINT NOT NULL, -- of those, the ones of the current schedule
    due          BIGINT NOT NULL, -- when the next attempt is; 0 = there is none
    lease        TEXT NOT NULL, -- of the worker that makes it
    lease_until  BIGINT NOT NULL, -- then the lease is void: its process has died
    response     BIGINT NOT NULL, -- last HTTP status; 0 = there was no answer
    error        TEXT NOT NULL,
    history      TEXT NOT NULL, -- the attempts, as JSON
    attempted_at BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    completed_at BIGINT NOT NULL,
    UNIQUE (webhook_id, seq)
);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due) WHERE due > 0;

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
