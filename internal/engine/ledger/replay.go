package ledger

import (
	"context"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

var (
	insertReplays = newStatement(`INSERT INTO replays (replay, original, at) VALUES `, `(?,?,?)`, ` ON CONFLICT (replay) DO NOTHING`)

	requestsIn      = newStatement(`SELECT id FROM messages WHERE type = 'chat_message' AND channel IN (`, `?`, `)`)
	forgetReplays   = newStatement(`DELETE FROM replays WHERE replay IN (`, `?`, `)`)
	forgetOriginals = newStatement(`DELETE FROM replays WHERE original IN (`, `?`, `)`)
)

// linkReplays notes which requests repeat which.
func (b *batch) linkReplays(ctx context.Context) error {
	var values []any
	for _, open := range b.standingOpenings {
		if open.ReplayOf != "" {
			values = append(values, open.Message.ID, open.ReplayOf, b.now)
		}
	}
	err := b.w.execRows(ctx, insertReplays, values)
	return err
}

// unlinkReplays forgets what the requests in some channels repeat, and who repeats
// them.
func (b *batch) unlinkReplays(ctx context.Context, channels []any) error {
	var turns []any
	err := b.w.queryRows(ctx, requestsIn, channels, func(r database.Row) error {
		var id string
		err := r.Scan(&id)
		turns = append(turns, id)
		return err
	})
	if err != nil {
		return err
	}
	for _, forget := range []*statement{forgetReplays, forgetOriginals} {
		if err := b.w.execRows(ctx, forget, turns); err != nil {
			return err
		}
	}
	return nil
}

// numberPast numbers what a fresh channel begins with, and returns the number of
// the message that follows.
func (o *Opening) numberPast() int64 {
	for i := range o.Past {
		o.Past[i].Channel, o.Past[i].Offset = o.Channel.ID, int64(i)+1
	}
	return int64(len(o.Past)) + 1
}

// MessagesBefore returns what was asked and answered in a channel between two
// offsets, in order: the last of it, at most limit messages of so many bytes.
func (l *Ledger) MessagesBefore(ctx context.Context, channel string, after, before int64, limit, bytes int) ([]beeos.Message, error) {
	ms, err := database.List(ctx, l.db, "read earlier messages", messageFields,
		`SELECT `+messageColumns+` FROM messages WHERE channel = $1 AND off > $2 AND off < $3 AND type IN ('chat_message', 'agent_reply') ORDER BY off DESC LIMIT $4`,
		channel, after, before, limit)
	for i := range ms {
		if bytes -= len(ms[i].Body) + len(ms[i].Parts) + len(ms[i].Payload); bytes < 0 {
			ms = ms[:i]
			break
		}
	}
	slices.Reverse(ms)
	return ms, err
}
