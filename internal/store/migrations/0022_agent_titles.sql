-- What an owner calls an agent. Its own name stays: the program that dials in
-- declares the agent by it.

-- +goose Up
ALTER TABLE agents ADD COLUMN title TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE agents DROP COLUMN title;
