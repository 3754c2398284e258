-- What replicas have drawn from the quota that they keep together: one bucket
-- per credential and agent. A row that has expired is a bucket that is full.

-- +goose Up
CREATE TABLE quotas (
    credential TEXT NOT NULL,
    agent      TEXT NOT NULL,
    took       BIGINT NOT NULL, -- calls that the last one to draw was given
    per_minute BIGINT NOT NULL, -- the quota by which it drew
    expires_at BIGINT NOT NULL, -- when the bucket is full again; not indexed, so that drawing stays cheap
    PRIMARY KEY (credential, agent)
);

-- +goose Down
DROP TABLE quotas;
