-- A built-in agent is run by one node, and a conversation with one can be
-- cleared: what was said up to then stays in the log and is not told to the
-- model again.

-- +goose Up
ALTER TABLE builtin_agents ADD COLUMN node TEXT NOT NULL DEFAULT ''; -- which runs it; '' = none
ALTER TABLE channels ADD COLUMN generation BIGINT NOT NULL DEFAULT 0; -- how often it was cleared
ALTER TABLE channels ADD COLUMN cleared BIGINT NOT NULL DEFAULT 0; -- the last offset that is forgotten

-- +goose Down
ALTER TABLE channels DROP COLUMN cleared;
ALTER TABLE channels DROP COLUMN generation;
ALTER TABLE builtin_agents DROP COLUMN node;
