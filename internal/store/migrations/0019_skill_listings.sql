-- Which skill servers have shown their tools. What a server shows first is what
-- its owner added it for; a tool that comes later is held until it is accepted,
-- and has no known description until then.

-- +goose Up
CREATE TABLE skill_listings (
    builtin_id TEXT NOT NULL REFERENCES builtin_agents (id),
    skill      TEXT NOT NULL,
    listed_at  BIGINT NOT NULL,
    PRIMARY KEY (builtin_id, skill)
);

INSERT INTO skill_listings (builtin_id, skill, listed_at)
SELECT builtin_id, skill, MAX(updated_at) FROM skill_tools GROUP BY builtin_id, skill;

-- +goose Down
DROP TABLE skill_listings;
