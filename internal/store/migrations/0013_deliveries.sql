-- Whoever lists what they wait for must not walk through what others wait for:
-- with an agent that is offline that can be a lot.

-- +goose Up
CREATE INDEX deliveries_of_owner ON deliveries (owner, turn);

-- +goose Down
DROP INDEX deliveries_of_owner;
