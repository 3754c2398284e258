-- People look through their conversations with all agents, and through the
-- deliveries of all their webhooks.

-- +goose Up
CREATE INDEX channels_of_owner ON channels (owner, id) WHERE kind = 'conversation';
CREATE INDEX webhooks_of_owner ON webhooks (owner, id);

-- +goose Down
DROP INDEX webhooks_of_owner;
DROP INDEX channels_of_owner;
