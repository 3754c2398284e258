-- Whether a request is the first of its lane that waits is asked for each one
-- that waits: without an index by lane that is a walk past all the others.

-- +goose Up
CREATE INDEX deliveries_waiting_in_lane ON deliveries (lane, seq, turn) WHERE NOT leased AND lane <> '';

-- +goose Down
DROP INDEX deliveries_waiting_in_lane;
