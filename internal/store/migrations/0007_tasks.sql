-- A task is one request of the ledger, seen by who made it or by whom it is
-- for. What it needs beyond the log: to be found by either, newest first, and
-- what an open one waits for. Ids begin with their time, so an index that ends
-- in one is in the order of time.

-- +goose Up
ALTER TABLE messages ADD COLUMN agent_id TEXT NOT NULL DEFAULT ''; -- of a chat_message: whom it is for
ALTER TABLE deliveries ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- who made the request
ALTER TABLE deliveries ADD COLUMN paused TEXT NOT NULL DEFAULT ''; -- the message type that it paused with
ALTER TABLE deliveries ADD COLUMN cancel_at BIGINT NOT NULL DEFAULT 0; -- when its end was asked for; 0 = it was not
ALTER TABLE channels ADD COLUMN title TEXT NOT NULL DEFAULT '';
ALTER TABLE channels ADD COLUMN model TEXT NOT NULL DEFAULT ''; -- '' = the agent's own

-- Who has called which agent, and when last, give or take a minute: so few rows
-- and so few writes that one index on the requests serves both sides.
CREATE TABLE callers (
    principal TEXT NOT NULL,
    agent_id  TEXT NOT NULL,
    seen_at   BIGINT NOT NULL,
    PRIMARY KEY (principal, agent_id)
);

CREATE INDEX callers_of_agent ON callers (agent_id, seen_at);

UPDATE messages SET agent_id = COALESCE((SELECT c.agent_id FROM channels c WHERE c.id = messages.channel), '') WHERE type = 'chat_message';
UPDATE deliveries SET owner = COALESCE((SELECT c.owner FROM channels c WHERE c.id = deliveries.channel), '');
INSERT INTO callers (principal, agent_id, seen_at)
    SELECT publisher, agent_id, MAX(created_at) FROM messages WHERE type = 'chat_message' GROUP BY publisher, agent_id;

CREATE INDEX messages_asked ON messages (agent_id, publisher, id) WHERE type = 'chat_message';
CREATE INDEX channels_kept ON channels (owner, agent_id, id) WHERE kind = 'conversation';

-- +goose Down
DROP INDEX channels_kept;
DROP INDEX messages_asked;
DROP TABLE callers;
ALTER TABLE channels DROP COLUMN model;
ALTER TABLE channels DROP COLUMN title;
ALTER TABLE deliveries DROP COLUMN cancel_at;
ALTER TABLE deliveries DROP COLUMN paused;
ALTER TABLE deliveries DROP COLUMN owner;
ALTER TABLE messages DROP COLUMN agent_id;
