-- The certificates of the domain, as all nodes serve them, with what their
-- authority asks meanwhile; and which node orders one, so that no other does.

-- +goose Up
CREATE TABLE certificates (
    name   TEXT PRIMARY KEY,
    sealed BYTEA NOT NULL
);
CREATE TABLE certificate_orders (
    name       TEXT PRIMARY KEY,
    holder     TEXT NOT NULL,   -- the node that orders
    held_until BIGINT NOT NULL  -- when it counts as gone
);

-- +goose Down
DROP TABLE certificate_orders;
DROP TABLE certificates;
