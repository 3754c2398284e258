package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

const messageColumns = `channel, off, id, type, in_reply_to, state, stop_reason, publisher, body, parts, payload, created_at`

func scanMessage(r interface{ Scan(...any) error }) (m beeos.Message, err error) {
	var parts, payload string
	var created int64
	err = r.Scan(&m.Channel, &m.Offset, &m.ID, &m.Type, &m.InReplyTo, &m.State, &m.StopReason, &m.Publisher, &m.Body, &parts, &payload, &created)
	if parts != "" {
		m.Parts = json.RawMessage(parts)
	}
	if payload != "" {
		m.Payload = json.RawMessage(payload)
	}
	m.CreatedAt = fromMicros(created)
	m.UpdatedAt = m.CreatedAt
	return m, err
}

func (l *Ledger) messages(ctx context.Context, query string, args ...any) ([]beeos.Message, error) {
	rows, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ms []beeos.Message
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	return ms, rows.Err()
}

// Messages returns what stands in the channel after offset since, in order,
// at most limit.
func (l *Ledger) Messages(ctx context.Context, channel string, since int64, limit int) ([]beeos.Message, error) {
	ms, err := l.messages(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off > $2 ORDER BY off LIMIT $3`, channel, since, limit)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return ms, nil
}

// Latest returns the last messages of the channel, in order, at most limit. When
// there would be more than so many bytes of them, the earlier ones are left out,
// and full says so.
func (l *Ledger) Latest(ctx context.Context, channel string, limit, bytes int) (ms []beeos.Message, full bool, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 ORDER BY off DESC LIMIT $2`, channel, limit)
	if err != nil {
		return nil, false, fmt.Errorf("read the last messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMessage(rows)
		if err != nil {
			return nil, false, fmt.Errorf("read the last messages: %w", err)
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

// MessagesOf is Messages for what belongs to one request: the request itself
// and what was said in reply to it.
func (l *Ledger) MessagesOf(ctx context.Context, channel, turn string, since int64, limit int) ([]beeos.Message, error) {
	ms, err := l.messages(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off > $2 AND (id = $4 OR in_reply_to = $4)
		ORDER BY off LIMIT $3`, channel, since, limit, turn)
	if err != nil {
		return nil, fmt.Errorf("read messages of a request: %w", err)
	}
	return ms, nil
}

// Message returns the one at offset off.
func (l *Ledger) Message(ctx context.Context, channel string, off int64) (beeos.Message, error) {
	return one(l.db.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off = $2`, channel, off))
}

// Find returns the one with the id. It reads through the channel: messages
// are looked for by offset, ids are for other people.
func (l *Ledger) Find(ctx context.Context, channel, id string) (beeos.Message, error) {
	return one(l.db.QueryRowContext(ctx, `SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND id = $2`, channel, id))
}

func one(row *sql.Row) (beeos.Message, error) {
	m, err := scanMessage(row)
	if database.IsAbsent(err) {
		return m, beeos.Errorf(beeos.NotFound, "there is no such message")
	}
	return m, err
}

// OpenTurns returns the channel's requests that have no terminal reply yet,
// oldest first.
func (l *Ledger) OpenTurns(ctx context.Context, channel string) ([]string, error) {
	rows, err := l.db.QueryContext(ctx, `SELECT id FROM messages WHERE channel = $1 AND type = 'chat_message'
		AND EXISTS (SELECT 1 FROM deliveries WHERE turn = messages.id) ORDER BY off`, channel)
	if err != nil {
		return nil, fmt.Errorf("read open requests: %w", err)
	}
	defer rows.Close()
	var turns []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		turns = append(turns, id)
	}
	return turns, rows.Err()
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
func (l *Ledger) Terminals(ctx context.Context, turns []string) ([]beeos.Message, error) {
	var found []beeos.Message
	for len(turns) > 0 {
		n := min(len(turns), maxRows)
		args := make([]any, n)
		for i, t := range turns[:n] {
			args[i] = t
		}
		ms, err := l.messages(ctx, `SELECT `+messageColumns+` FROM messages WHERE terminal AND in_reply_to IN (`+listOf.from(n, 1)+`)`, args...)
		if err != nil && !database.IsAbsent(err) {
			return nil, fmt.Errorf("read terminal replies: %w", err)
		}
		found = append(found, ms...)
		turns = turns[n:]
	}
	return found, nil
}

// Ends tells of each of the channels the offset of its last message, and
// whether it is closed.
func (l *Ledger) Ends(ctx context.Context, channels []string, tell func(channel string, last int64, closed bool)) error {
	for some := range slices.Chunk(channels, maxRows) {
		if err := l.ends(ctx, some, tell); err != nil {
			return fmt.Errorf("read the ends of channels: %w", err)
		}
	}
	return nil
}

func (l *Ledger) ends(ctx context.Context, channels []string, tell func(string, int64, bool)) error {
	args := make([]any, len(channels))
	for i, id := range channels {
		args[i] = id
	}
	rows, err := l.db.QueryContext(ctx, `SELECT id, next_off - 1, closed_reason <> '' FROM channels WHERE id IN (`+listOf.from(len(args), 1)+`)`, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var last int64
		var closed bool
		if err := rows.Scan(&id, &last, &closed); err != nil {
			return err
		}
		tell(id, last, closed)
	}
	return rows.Err()
}

const channelColumns = `id, agent_id, owner, kind, single_shot, closed_reason, deadline, metadata, created_at, updated_at, title, model, generation, cleared`

// Channel returns one channel.
func (l *Ledger) Channel(ctx context.Context, id string) (beeos.Channel, error) {
	c, err := scanChannel(l.db.QueryRowContext(ctx, `SELECT `+channelColumns+` FROM channels WHERE id = $1`, id))
	if database.IsAbsent(err) {
		return c, errNoChannel
	}
	if err != nil {
		return c, fmt.Errorf("read channel: %w", err)
	}
	return c, nil
}

func scanChannel(r interface{ Scan(...any) error }) (c beeos.Channel, err error) {
	var deadline, created, updated int64
	var metadata string
	err = r.Scan(&c.ID, &c.AgentID, &c.Owner, &c.Kind, &c.SingleShot, &c.ClosedReason, &deadline, &metadata, &created, &updated, &c.Title, &c.Model, &c.Generation, &c.Cleared)
	if err != nil {
		return c, err
	}
	c.Closed = c.ClosedReason != ""
	c.Deadline, c.CreatedAt, c.UpdatedAt = fromMicros(deadline), fromMicros(created), fromMicros(updated)
	if metadata != "" {
		if err := json.Unmarshal([]byte(metadata), &c.Metadata); err != nil {
			return c, fmt.Errorf("read channel metadata: %w", err)
		}
	}
	return c, nil
}

// CreateChannel makes a channel that has no message yet.
func (l *Ledger) CreateChannel(ctx context.Context, c beeos.Channel) error {
	meta, err := encodeMetadata(c.Metadata)
	if err != nil {
		return fmt.Errorf("encode channel metadata: %w", err)
	}
	made := false // the writer's work is shared, so a refusal must not look like a failure to it
	err = l.do(ctx, func(ctx context.Context, b *batch) error {
		n, err := b.w.execRows(ctx, insertChannels, []any{c.ID, c.AgentID, c.Owner, c.Kind, c.SingleShot, "", int64(1), micros(c.Deadline), meta, b.now, b.now})
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
	return l.do(ctx, func(ctx context.Context, b *batch) error {
		return b.w.exec(ctx, `UPDATE channels SET closed_reason = $2, updated_at = $3 WHERE id = $1 AND closed_reason = ''`, id, reason, b.now)
	})
}
