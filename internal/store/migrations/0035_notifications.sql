-- Where people want to hear of approvals that wait for them, which channel was told
-- of which approval, and what is still to be sent. That a channel was told, and what
-- it is sent, change in one transaction, so that nothing is told twice or never.

-- +goose Up
CREATE TABLE notification_channels (
    id         TEXT PRIMARY KEY,
    owner_id   TEXT NOT NULL, -- the person who is told
    kind       TEXT NOT NULL, -- webhook, email, slack or telegram
    target     TEXT NOT NULL, -- URL of a webhook, member of Slack, chat of Telegram; '' = the person's own address
    sealed     BYTEA NOT NULL, -- what proves that we are it, encrypted
    events     BIGINT NOT NULL, -- deliveries made so far
    disabled   BOOLEAN NOT NULL, -- its receiver wants no more
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX notification_channels_target ON notification_channels (owner_id, kind, target);

CREATE TABLE notifications (
    approval   TEXT NOT NULL,
    channel    TEXT NOT NULL REFERENCES notification_channels (id) ON DELETE CASCADE,
    open       BOOLEAN NOT NULL, -- it has not been told how the approval ended
    remind_at  BIGINT NOT NULL, -- when it is told again that the approval waits; 0 = it was, or is not to be
    reference  TEXT NOT NULL, -- of the message, where it is changed when the approval ends; '' = none
    created_at BIGINT NOT NULL,
    PRIMARY KEY (approval, channel)
);
CREATE INDEX notifications_open ON notifications (approval) WHERE open;
CREATE INDEX notifications_remind ON notifications (remind_at) WHERE remind_at > 0;
CREATE INDEX notifications_of_channel ON notifications (channel);
CREATE INDEX notifications_age ON notifications (created_at) WHERE NOT open;

CREATE TABLE notification_deliveries (
    id           TEXT PRIMARY KEY,
    channel      TEXT NOT NULL REFERENCES notification_channels (id) ON DELETE CASCADE,
    seq          BIGINT NOT NULL, -- order within the channel
    payload      BYTEA NOT NULL, -- what happened, every time the same
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
    UNIQUE (channel, seq)
);
CREATE INDEX notification_deliveries_due ON notification_deliveries (due) WHERE due > 0;
CREATE INDEX notification_deliveries_age ON notification_deliveries (created_at);

-- +goose Down
DROP TABLE notification_deliveries;
DROP TABLE notifications;
DROP TABLE notification_channels;
