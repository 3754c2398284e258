-- The authorization server: what it signs with, which clients registered, the
-- consents under way, what people granted, and the chains of refresh tokens.
-- Of every code, ticket and refresh token only its SHA-256 is here.

-- +goose Up
CREATE TABLE oauth_keys (
    id         TEXT PRIMARY KEY, -- the kid
    secret     BYTEA NOT NULL,
    created_at BIGINT NOT NULL, -- the newest one signs
    retires_at BIGINT NOT NULL -- 0 = not yet; else it verifies until then
);

CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL, -- JSON
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL -- moved forward by use
);

CREATE INDEX oauth_clients_expiry ON oauth_clients (expires_at);

-- One row per authorization request, until the browser is back or too late.
CREATE TABLE oauth_tx (
    id           TEXT PRIMARY KEY,
    binder       BYTEA NOT NULL, -- of the browser that began
    client_id    TEXT NOT NULL,
    client_name  TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    state        TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    resource     TEXT NOT NULL,
    scope        TEXT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ticket       BYTEA NOT NULL, -- empty until somebody has answered
    user_id      TEXT NOT NULL, -- who did
    allowed      BOOLEAN NOT NULL,
    agents       TEXT NOT NULL, -- JSON
    all_agents   BOOLEAN NOT NULL,
    grant_until  BIGINT NOT NULL -- 0 = until revoked
);

CREATE INDEX oauth_tx_expiry ON oauth_tx (expires_at);

CREATE TABLE oauth_grants (
    id          TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL REFERENCES users (id),
    client_id   TEXT NOT NULL,
    client_name TEXT NOT NULL,
    client_host TEXT NOT NULL,
    agents      TEXT NOT NULL, -- JSON
    all_agents  BOOLEAN NOT NULL,
    live        BOOLEAN NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL, -- 0 = until revoked
    used_at     BIGINT NOT NULL,
    revoked_at  BIGINT NOT NULL
);

-- A client has one grant of a person at a time; consenting again changes it.
CREATE UNIQUE INDEX oauth_grants_live ON oauth_grants (user_id, client_id) WHERE live;
CREATE INDEX oauth_grants_user ON oauth_grants (user_id, created_at, id);
CREATE INDEX oauth_grants_age ON oauth_grants (created_at, id);

CREATE TABLE oauth_codes (
    hash         BYTEA PRIMARY KEY,
    family_id    TEXT NOT NULL, -- what it becomes
    grant_id     TEXT NOT NULL,
    client_id    TEXT NOT NULL,
    redirect_uri TEXT NOT NULL,
    challenge    TEXT NOT NULL,
    resource     TEXT NOT NULL,
    used         BOOLEAN NOT NULL,
    expires_at   BIGINT NOT NULL
);

CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- One row per chain of refresh tokens, which all come from one code or one
-- log-in. A row that is gone takes its access tokens with it.
CREATE TABLE oauth_families (
    id         TEXT PRIMARY KEY,
    grant_id   TEXT NOT NULL, -- '' = a person's own, for REST
    user_id    TEXT NOT NULL REFERENCES users (id),
    client_id  TEXT NOT NULL,
    resource   TEXT NOT NULL,
    token      BYTEA NOT NULL, -- the one that is good now
    previous   BYTEA NOT NULL, -- the one before
    generation BIGINT NOT NULL,
    rotated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX oauth_families_grant ON oauth_families (grant_id);
CREATE INDEX oauth_families_user ON oauth_families (user_id);
CREATE INDEX oauth_families_expiry ON oauth_families (expires_at);

-- +goose Down
DROP TABLE oauth_families;
DROP TABLE oauth_codes;
DROP TABLE oauth_grants;
DROP TABLE oauth_tx;
DROP TABLE oauth_clients;
DROP TABLE oauth_keys;
