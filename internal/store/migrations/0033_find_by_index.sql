-- Whoever looks for calls that went wrong or took long is served by indexes alone.
--
-- Calls of a minute and of ten minutes are classes of their own (calls.Slowness):
-- who looks for the few that took so long does not read all that took ten seconds.
-- The time in n is that of the request's id, which is a little earlier than the
-- request: a call may stand in a class too high, where it is looked at and left out.
--
-- The newest of a kind are looked through for those of some routes: the number of
-- the route stands in the index, so that no row is read for that.

-- +goose Up
UPDATE messages SET slow = CASE WHEN created_at - n * 125 / 512 >= 600000000 THEN 5 ELSE 4 END
    WHERE slow <> 0 AND slow = 3 AND created_at - n * 125 / 512 >= 60000000;
DROP INDEX messages_not_ok;
DROP INDEX messages_slow;
CREATE INDEX messages_not_ok ON messages (outcome, n, route) WHERE outcome <> 0;
CREATE INDEX messages_slow ON messages (slow, n, route) WHERE slow <> 0;

-- +goose Down
DROP INDEX messages_slow;
DROP INDEX messages_not_ok;
CREATE INDEX messages_not_ok ON messages (outcome, n) WHERE outcome <> 0;
CREATE INDEX messages_slow ON messages (slow, n) WHERE slow <> 0;
UPDATE messages SET slow = 3 WHERE slow <> 0 AND slow > 3;
