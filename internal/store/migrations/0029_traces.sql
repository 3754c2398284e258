-- Where in a distributed trace a request began (telemetry/trace, Origin), so that
-- whoever hands it out again or ends it goes on with the trace. Empty for most;
-- the terminal reply's trail keeps it when the delivery is gone.

-- +goose Up
ALTER TABLE deliveries ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE deliveries DROP COLUMN trace;
