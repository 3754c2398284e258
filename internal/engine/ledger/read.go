package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

const messageColumns = `channel, off, id, type, in_reply_to, state, stop_reason, publisher, body, parts, payload, created_at`

func messageFields(m *beeos.Message) []any {
	return []any{
		&m.Channel, &m.Offset, &m.ID, &m.Type, &m.InReplyTo, &m.State, &m.StopReason, &m.Publisher, &m.Body,
		rawJSON{&m.Parts},
		rawJSON{&m.Payload},
		messageTime{m},
	}
}

// rawJSON is a column of JSON that is passed on as it stands; empty = none.
type rawJSON struct{ to *json.RawMessage }

func (c rawJSON) Scan(v any) error {
	var text sql.NullString
	err := text.Scan(v)
	if text.String != "" {
		*c.to = json.RawMessage(text.String)
	}
	return err
}

// messageTime is when a message was written, which is also when it last changed.
type messageTime struct{ of *beeos.Message }

func (c messageTime) Scan(v any) error {
	err := database.Time(&c.of.CreatedAt).Scan(v)
	c.of.UpdatedAt = c.of.CreatedAt
	return err
}

// Messages returns what stands in the channel after offset since, in order,
// at most limit.
func (l *Ledger) Messages(ctx context.Context, channel string, since int64, limit int) ([]beeos.Message, error) {
	return database.List(ctx, l.db, "read messages", messageFields,
		`SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off > $2 ORDER BY off LIMIT $3`, channel, since, limit)
}

// LatestMessages returns the last messages of the channel, in order, at most limit. When
// there would be more than so many bytes of them, the earlier ones are left out,
// and full says so.
func (l *Ledger) LatestMessages(ctx context.Context, channel string, limit, bytes int) (ms []beeos.Message, full bool, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 ORDER BY off DESC LIMIT $2`, channel, limit)
	if err != nil {
		return nil, false, database.Explain("read the last messages", err)
	}
	defer rows.Close()
	for rows.Next() {
		var m beeos.Message
		if err := rows.Scan(messageFields(&m)...); err != nil {
			return nil, false, database.Explain("read the last messages", err)
		}
		if bytes -= len(m.Body) + len(m.Parts) + len(m.Payload); bytes < 0 && len(ms) > 0 {
			full = true
			break
		}
		ms = append(ms, m)
	}
	slices.Reverse(ms)
	return ms, full, rows.Err()
}

// RequestMessages is Messages for what belongs to one request: the request itself
// and what was said in reply to it.
func (l *Ledger) RequestMessages(ctx context.Context, channel, turn string, since int64, limit int) ([]beeos.Message, error) {
	return database.List(ctx, l.db, "read messages of a request", messageFields,
		`SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off > $2 AND (id = $4 OR in_reply_to = $4) ORDER BY off LIMIT $3`, channel, since, limit, turn)
}

var errNoMessage = beeos.Errorf(beeos.NotFound, "there is no such message")

// Message returns the one at offset off.
func (l *Ledger) Message(ctx context.Context, channel string, off int64) (beeos.Message, error) {
	return database.Get(ctx, l.db, "read a message", errNoMessage, messageFields,
		`SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off = $2`, channel, off)
}

// FindMessage returns the one with the id. It reads through the channel: messages
// are looked for by offset, ids are for other people.
func (l *Ledger) FindMessage(ctx context.Context, channel, id string) (beeos.Message, error) {
	return database.Get(ctx, l.db, "find a message", errNoMessage, messageFields,
		`SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND id = $2`, channel, id)
}

// OpenTurns returns the channel's requests that have no terminal reply yet,
// oldest first.
func (l *Ledger) OpenTurns(ctx context.Context, channel string) ([]string, error) {
	return database.ListTexts(ctx, l.db, "read open requests", `SELECT id FROM messages WHERE channel = $1 AND type = 'chat_message'
		AND EXISTS (SELECT 1 FROM deliveries WHERE turn = messages.id) ORDER BY off`, channel)
}

// Terminal returns the terminal reply to a request, nil while there is none.
func (l *Ledger) Terminal(ctx context.Context, turn string) (*beeos.Message, error) {
	found, err := l.Terminals(ctx, []string{turn})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Terminals returns the terminal replies that some of the requests have.
func (l *Ledger) Terminals(ctx context.Context, turns []string) (found []beeos.Message, err error) {
	for some := range slices.Chunk(turns, maxRows) {
		ms, err := database.List(ctx, l.db, "read terminal replies", messageFields,
			`SELECT `+messageColumns+` FROM messages WHERE terminal AND in_reply_to IN (`+listOf.from(len(some), 1)+`)`, database.Args(some)...)
		if err != nil && !database.IsAbsent(err) {
			return nil, err
		}
		found = append(found, ms...)
	}
	return found, nil
}

// channelEnd is how far a channel goes.
type channelEnd struct {
	id     string
	last   int64
	closed bool
}

// ReadEnds tells of each of the channels the offset of its last message, and
// whether it is closed.
func (l *Ledger) ReadEnds(ctx context.Context, channels []string, tell func(channel string, last int64, closed bool)) error {
	fields := func(e *channelEnd) []any { return []any{&e.id, &e.last, &e.closed} }
	for some := range slices.Chunk(channels, maxRows) {
		ends, err := database.List(ctx, l.db, "read the ends of channels", fields,
			`SELECT id, next_off - 1, closed_reason <> '' FROM channels WHERE id IN (`+listOf.from(len(some), 1)+`)`, database.Args(some)...)
		if err != nil {
			return err
		}
		for _, e := range ends {
			tell(e.id, e.last, e.closed)
		}
	}
	return nil
}

const channelColumns = `id, agent_id, owner, kind, single_shot, closed_reason, deadline, metadata, created_at, updated_at, title, model, generation, cleared, metadata_version`

func channelFields(c *beeos.Channel) []any {
	return []any{
		&c.ID, &c.AgentID, &c.Owner, &c.Kind, &c.SingleShot,
		closedReason{c},
		database.Time(&c.Deadline),
		metadata{&c.Metadata},
		database.Time(&c.CreatedAt), database.Time(&c.UpdatedAt), &c.Title, &c.Model, &c.Generation, &c.Cleared, &c.Version,
	}
}

// closedReason is why a channel is closed; empty = it is open.
type closedReason struct{ of *beeos.Channel }

func (c closedReason) Scan(v any) error {
	var reason sql.NullString
	err := reason.Scan(v)
	c.of.ClosedReason, c.of.Closed = reason.String, reason.String != ""
	return err
}

// metadata is a column of JSON that is empty when there is none.
type metadata struct{ to *map[string]string }

func (c metadata) Scan(v any) error {
	var text sql.NullString
	if err := text.Scan(v); err != nil || text.String == "" {
		return err
	}
	return json.Unmarshal([]byte(text.String), c.to)
}

// Channel returns one channel.
func (l *Ledger) Channel(ctx context.Context, id string) (beeos.Channel, error) {
	return database.Get(ctx, l.db, "read channel", errNoChannel, channelFields, `SELECT `+channelColumns+` FROM channels WHERE id = $1`, id)
}

// CreateChannel makes a channel that has no message yet.
func (l *Ledger) CreateChannel(ctx context.Context, c beeos.Channel) error {
	meta, err := encodeMetadata(c.Metadata)
	if err != nil {
		return fmt.Errorf("encode channel metadata: %w", err)
	}
	made := false // the writer's work is shared, so a refusal must not look like a failure to it
	err = l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		n, err := b.w.changeRows(ctx, insertChannels, []any{c.ID, c.AgentID, c.Owner, c.Kind, c.SingleShot, int64(1), database.Micros(c.Deadline), meta, b.now, b.now})
		if made = n > 0; err == nil && made && c.Title != "" {
			err = b.w.exec(ctx, `UPDATE channels SET title = $2 WHERE id = $1`, c.ID, c.Title)
		}
		return err
	})
	if err == nil && !made {
		return beeos.Errorf(beeos.Conflict, "channel %s exists", c.ID)
	}
	return err
}

// CloseChannel ends a channel: it can be read, not written. A closed one
// keeps its first reason.
func (l *Ledger) CloseChannel(ctx context.Context, id, reason string) error {
	if reason == "" {
		reason = "closed"
	}
	return l.runInWriter(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET closed_reason = $2, updated_at = $3, metadata_version = metadata_version + 1 WHERE id = $1 AND closed_reason = ''`, id, reason, b.now)
	})
}

// Backlog is what waits for an agent: how much, and when the oldest of it was
// asked for; the zero time if nothing waits.
func (l *Ledger) Backlog(ctx context.Context, agentID string) (waiting int, oldest time.Time, err error) {
	var micros int64
	err = l.db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MIN(seq), 0) FROM deliveries WHERE agent_id = $1 AND NOT leased", agentID).Scan(&waiting, &micros)
	if err != nil {
		return 0, oldest, database.Explain("count what waits for an agent", err)
	}
	if waiting > 0 {
		oldest = time.UnixMicro(micros).UTC()
	}
	return waiting, oldest, nil
}

// Waiting is what waits for an agent.
type Waiting struct {
	AgentID  string
	Requests int
	Oldest   time.Time // when the first of them was asked for
}

// Backlogs returns what waits for each of some agents; those for which nothing does
// are left out.
func (l *Ledger) Backlogs(ctx context.Context, agentIDs []string) ([]Waiting, error) {
	if len(agentIDs) == 0 {
		return nil, nil
	}
	var where database.Conditions
	where.Text("NOT leased")
	where.AddList("agent_id", database.Args(agentIDs))
	return database.List(ctx, l.db, "count what waits for agents", func(w *Waiting) []any { return []any{&w.AgentID, &w.Requests, database.Time(&w.Oldest)} },
		"SELECT agent_id, COUNT(*), MIN(seq) FROM deliveries"+where.SQL()+" GROUP BY agent_id ORDER BY agent_id", where.Args...)
}
