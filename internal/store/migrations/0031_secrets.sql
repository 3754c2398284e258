-- What is not shown of calls. metadata_only: of an agent whose owner sees that it was
-- called, and not what was said. past_schemas: what its tools named secret before
-- it declared others, for the calls of that time; '' = such a tool named nothing.
-- skill_tools.past: the description before the one that was accepted last.

-- +goose Up
ALTER TABLE agents ADD COLUMN metadata_only BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE skill_tools ADD COLUMN past TEXT NOT NULL DEFAULT '';
CREATE TABLE past_schemas (
    agent_id     TEXT NOT NULL REFERENCES agents (id),
    tool         TEXT NOT NULL,
    hash         BYTEA NOT NULL, -- of input_schema
    input_schema TEXT NOT NULL,
    seen_at      BIGINT NOT NULL,
    PRIMARY KEY (agent_id, tool, hash)
);

-- +goose Down
DROP TABLE past_schemas;
ALTER TABLE skill_tools DROP COLUMN past;
ALTER TABLE agents DROP COLUMN metadata_only;
