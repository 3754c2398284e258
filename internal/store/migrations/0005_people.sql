-- How people get in: browsers that are signed in, links that work once, who
-- somebody is at an outside provider, and how often a sign-in went wrong.
-- Of every secret only its SHA-256 is here.

-- +goose Up
CREATE TABLE logins (
    hash       BYTEA PRIMARY KEY,
    id         TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES users (id),
    method     TEXT NOT NULL,
    address    TEXT NOT NULL,
    device     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX logins_user ON logins (user_id, created_at, id);
CREATE INDEX logins_expiry ON logins (expires_at);

CREATE TABLE links (
    hash       BYTEA PRIMARY KEY,
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL, -- setup, invite, reset
    user_id    TEXT NOT NULL, -- whom it is for; '' = somebody new
    email      TEXT NOT NULL, -- lower case; '' = whoever uses it says
    admin      BOOLEAN NOT NULL,
    made_by    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX links_kind ON links (kind, email);
CREATE INDEX links_user ON links (user_id) WHERE user_id <> '';
CREATE INDEX links_expiry ON links (expires_at);

CREATE TABLE identities (
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    user_id    TEXT NOT NULL REFERENCES users (id),
    email      TEXT NOT NULL, -- as the provider said it first
    created_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX identities_user ON identities (user_id);

-- One row per account and per address with a failure not long ago. What was
-- typed as the account is hashed: people type passwords there by mistake.
CREATE TABLE signin_failures (
    hash       BYTEA PRIMARY KEY,
    failures   BIGINT NOT NULL,
    free_at    BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX signin_failures_expiry ON signin_failures (expires_at);

-- +goose Down
DROP TABLE signin_failures;
DROP TABLE identities;
DROP TABLE links;
DROP TABLE logins;
