-- The messages are the record of calls. A request has the number of its route and
-- of its time; its terminal reply has the same two where it went wrong or took
-- long, and how it came out. An index of two small numbers does what one of three
-- texts did, and no row is written for the record alone.

-- +goose Up
ALTER TABLE messages ADD COLUMN route BIGINT NOT NULL DEFAULT 0; -- of a request, and of a terminal reply that is noted: routes.id
ALTER TABLE messages ADD COLUMN n BIGINT NOT NULL DEFAULT 0; -- of both: calls.Key of the request's id
ALTER TABLE messages ADD COLUMN outcome BIGINT NOT NULL DEFAULT 0; -- of a terminal reply: a calls.Outcome
ALTER TABLE messages ADD COLUMN slow BIGINT NOT NULL DEFAULT 0; -- of a terminal reply: calls.Slowness
ALTER TABLE messages ADD COLUMN steps TEXT NOT NULL DEFAULT ''; -- of a terminal reply: JSON, a list of beeos.Step
ALTER TABLE deliveries ADD COLUMN route BIGINT NOT NULL DEFAULT 0;

-- With which key or app a route is used; '' = by a person who is signed in.
ALTER TABLE routes ADD COLUMN credential TEXT NOT NULL DEFAULT '';
DROP INDEX routes_named;
CREATE UNIQUE INDEX routes_named ON routes (agent_id, caller, surface, tool, credential);

-- Requests from before are found as they were, by agent and caller: which surface
-- and tool they were for stands in their payload alone.
INSERT INTO routes (id, agent_id, caller, surface, tool, seen_at)
    SELECT (SELECT COALESCE(MAX(id), 0) FROM routes) + ROW_NUMBER() OVER (ORDER BY c.agent_id, c.principal), c.agent_id, c.principal, '', '', c.seen_at
    FROM callers c WHERE NOT EXISTS (SELECT 1 FROM routes r WHERE r.agent_id = c.agent_id AND r.caller = c.principal AND r.surface = '' AND r.tool = '');
UPDATE messages SET n = created_at * 512 / 125,
    route = COALESCE((SELECT r.id FROM routes r WHERE r.agent_id = messages.agent_id AND r.caller = messages.publisher AND r.surface = '' AND r.tool = ''), 0)
    WHERE type = 'chat_message';
UPDATE messages SET route = m.route, n = m.n,
    outcome = CASE WHEN messages.state = 'cancelled' THEN 4 WHEN messages.type = 'agent.refuse' THEN 2 WHEN messages.type = 'agent_busy' THEN 3
        WHEN messages.type = 'agent_reply' THEN 0 WHEN messages.stop_reason = 'timeout' THEN 5 WHEN messages.stop_reason = 'agent_lost' THEN 6 ELSE 1 END,
    slow = CASE WHEN messages.created_at - m.created_at >= 10000000 THEN 3 WHEN messages.created_at - m.created_at >= 1000000 THEN 2
        WHEN messages.created_at - m.created_at >= 100000 THEN 1 ELSE 0 END
    FROM messages m WHERE messages.terminal AND m.channel = messages.channel AND m.id = messages.in_reply_to AND m.type = 'chat_message';
UPDATE deliveries SET route = COALESCE((SELECT m.route FROM messages m WHERE m.channel = deliveries.channel AND m.off = deliveries.off), 0);

DROP INDEX messages_asked;
CREATE INDEX messages_of_route ON messages (route, n) WHERE type = 'chat_message';
CREATE INDEX messages_asked ON messages (n, route) WHERE type = 'chat_message';

-- Calls that went wrong and calls that took long are looked for more often than
-- they happen.
CREATE INDEX messages_not_ok ON messages (outcome, n) WHERE outcome <> 0;
CREATE INDEX messages_not_ok_of_route ON messages (outcome, route, n) WHERE outcome <> 0;
CREATE INDEX messages_slow ON messages (slow, n) WHERE slow <> 0;
CREATE INDEX messages_slow_of_route ON messages (slow, route, n) WHERE slow <> 0;

DROP TABLE call_steps;
DROP TABLE calls;
DROP TABLE callers;
ALTER TABLE deliveries DROP COLUMN tool;
ALTER TABLE deliveries DROP COLUMN surface;

-- +goose Down
DROP INDEX routes_named;
DELETE FROM routes WHERE id NOT IN (SELECT MIN(id) FROM routes GROUP BY agent_id, caller, surface, tool);
CREATE UNIQUE INDEX routes_named ON routes (agent_id, caller, surface, tool);
ALTER TABLE routes DROP COLUMN credential;
ALTER TABLE deliveries ADD COLUMN surface TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN tool TEXT NOT NULL DEFAULT '';
CREATE TABLE callers (
    principal TEXT NOT NULL,
    agent_id  TEXT NOT NULL,
    seen_at   BIGINT NOT NULL,
    PRIMARY KEY (principal, agent_id)
);
CREATE INDEX callers_of_agent ON callers (agent_id, seen_at);
INSERT INTO callers (principal, agent_id, seen_at) SELECT caller, agent_id, MAX(seen_at) FROM routes GROUP BY caller, agent_id;
CREATE TABLE calls (
    n       BIGINT PRIMARY KEY,
    turn    BYTEA NOT NULL,
    off     BIGINT NOT NULL,
    route   BIGINT NOT NULL,
    outcome BIGINT NOT NULL,
    took    BIGINT NOT NULL
);
CREATE INDEX calls_of_route ON calls (route, n);
CREATE INDEX calls_not_ok ON calls (n) WHERE outcome <> 0;
CREATE INDEX calls_not_ok_of_route ON calls (route, n) WHERE outcome <> 0;
CREATE INDEX calls_slow ON calls (n) WHERE took >= 1000000;
CREATE INDEX calls_slow_of_route ON calls (route, n) WHERE took >= 1000000;
CREATE INDEX calls_very_slow ON calls (n) WHERE took >= 10000000;
CREATE TABLE call_steps (
    n     BIGINT PRIMARY KEY,
    steps TEXT NOT NULL
);
DROP INDEX messages_slow_of_route;
DROP INDEX messages_slow;
DROP INDEX messages_not_ok_of_route;
DROP INDEX messages_not_ok;
DROP INDEX messages_asked;
DROP INDEX messages_of_route;
CREATE INDEX messages_asked ON messages (agent_id, publisher, id) WHERE type = 'chat_message';
ALTER TABLE deliveries DROP COLUMN route;
ALTER TABLE messages DROP COLUMN steps;
ALTER TABLE messages DROP COLUMN slow;
ALTER TABLE messages DROP COLUMN outcome;
ALTER TABLE messages DROP COLUMN n;
ALTER TABLE messages DROP COLUMN route;
