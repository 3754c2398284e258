-- Whose a session is, so that what one caller's sessions leave behind can be
-- bounded; and what owners decide about long calls over MCP.

-- +goose Up
ALTER TABLE mcp_sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE mcp_subscriptions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX mcp_sessions_owner ON mcp_sessions (owner, expires_at);
CREATE INDEX mcp_subscriptions_owner ON mcp_subscriptions (owner, expires_at);

ALTER TABLE agents ADD COLUMN hand_over BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE agents ADD COLUMN when_left TEXT NOT NULL DEFAULT ''; -- '' = as its redelivery says, or stop, go_on

-- +goose Down
ALTER TABLE agents DROP COLUMN when_left;
ALTER TABLE agents DROP COLUMN hand_over;
DROP INDEX mcp_subscriptions_owner;
DROP INDEX mcp_sessions_owner;
ALTER TABLE mcp_subscriptions DROP COLUMN owner;
ALTER TABLE mcp_sessions DROP COLUMN owner;
