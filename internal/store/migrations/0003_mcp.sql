-- What a sealed MCP session cannot carry itself: that it was ended, which log
-- messages it wants and which resources it watches. A session that did none
-- of these has no row. Rows outlive the sessions that they speak of.

-- +goose Up
CREATE TABLE mcp_sessions (
    id         TEXT PRIMARY KEY,
    level      TEXT NOT NULL, -- '' = every message
    ended_at   BIGINT NOT NULL, -- 0 = it goes on
    expires_at BIGINT NOT NULL
);

CREATE INDEX mcp_sessions_ended ON mcp_sessions (ended_at) WHERE ended_at > 0;
CREATE INDEX mcp_sessions_expiry ON mcp_sessions (expires_at);

CREATE TABLE mcp_subscriptions (
    session    TEXT NOT NULL,
    uri        TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (session, uri)
);

CREATE INDEX mcp_subscriptions_expiry ON mcp_subscriptions (expires_at);

-- +goose Down
DROP TABLE mcp_subscriptions;
DROP TABLE mcp_sessions;
