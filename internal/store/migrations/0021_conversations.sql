-- Clients that keep conversations of their own tell by a number which of two
-- states of one is the later: it rises whenever its title, model, history or
-- state changes.

-- +goose Up
ALTER TABLE channels ADD COLUMN metadata_version BIGINT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE channels DROP COLUMN metadata_version;
