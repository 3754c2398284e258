-- Files that callers upload. The bytes are elsewhere, under the file's id.

-- +goose Up
CREATE TABLE files (
    id            TEXT PRIMARY KEY,
    owner         TEXT NOT NULL, -- whose it is: a caller's principal
    owner_id      TEXT NOT NULL REFERENCES users (id),
    filename      TEXT NOT NULL, -- as it was given; it never becomes a path
    content_type  TEXT NOT NULL,
    state         TEXT NOT NULL, -- pending: waits for its bytes; stored; removed: its bytes are to go
    claim         TEXT NOT NULL, -- of the upload that writes the bytes
    claimed_until BIGINT NOT NULL, -- then the claim is void: its process has died
    size          BIGINT NOT NULL,
    sha256        BYTEA NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL
);

CREATE INDEX files_expiry ON files (expires_at);

-- +goose Down
DROP TABLE files;
