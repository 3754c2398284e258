package ledger

import (
	"context"
	"database/sql"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Values are bound one by one, which is a good part of what a row costs: what is
// the same in all rows, or empty in nearly all, stands in the text or is left out.
var (
	insertRequests = newStatement(
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, agent_id, route, n) VALUES `,
		`(?,?,?,'chat_message','',FALSE,?,'',?,?,?,?,?,?,?,?)`, ``)
	insertMessages = newStatement(
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, trail) VALUES `,
		`(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, ` ON CONFLICT (in_reply_to) WHERE terminal DO NOTHING`)
	insertNotedReplies = newStatement(
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, trail, route, n, outcome, slow, steps) VALUES `,
		`(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, ` ON CONFLICT (in_reply_to) WHERE terminal DO NOTHING`)
	winners = newStatement(`SELECT id FROM messages WHERE terminal AND in_reply_to IN (`, `?`, `)`)
)

// insertRequests writes the messages that are requests.
func (b *batch) insertRequests(ctx context.Context) error {
	var values []any
	for _, open := range b.standingOpenings {
		m := &open.Message
		m.Type, m.InReplyTo, m.StopReason = beeos.ChatMessage, "", ""
		b.setTime(m)
		values = append(values, m.Channel, m.Offset, m.ID, m.State, m.Publisher, m.Body, string(m.Parts), string(m.Payload), b.now,
			open.Channel.AgentID, open.route, calls.Key(m.ID))
		b.committed = append(b.committed, *m)
	}
	_, err := b.w.execRows(ctx, insertRequests, values)
	return err
}

func (b *batch) setTime(m *beeos.Message) {
	m.CreatedAt = database.Moment(b.now)
	m.UpdatedAt = m.CreatedAt
}

// insertMessages writes all other messages. A terminal one that finds another in
// its place is refused; its offset stays a hole.
func (b *batch) insertMessages(ctx context.Context) error {
	var plain, noted, turns []any
	records := make([]record, len(b.ops))
	sent := int64(0)
	add := func(m *beeos.Message, r *record) {
		b.setTime(m)
		to := &plain
		if r.isNoted() {
			to = &noted
		}
		*to = append(*to, m.Channel, m.Offset, m.ID, string(m.Type), m.InReplyTo, m.Type.Terminal(), m.State, m.StopReason,
			m.Publisher, m.Body, string(m.Parts), string(m.Payload), b.now, r.trail)
		if r.isNoted() {
			*to = append(*to, r.route, r.n, int64(r.outcome), r.slow, r.steps)
		}
		sent++
	}
	for _, open := range b.standingOpenings {
		for i := range open.Past {
			add(&open.Past[i], &record{}) // of no agent: nobody is asked again
		}
	}
	for i, o := range b.ops {
		m := o.message
		if m == nil || o.err != nil {
			continue
		}
		if m.Type.Terminal() {
			records[i] = b.recordOf(o)
			turns = append(turns, m.InReplyTo)
		}
		add(m, &records[i])
	}
	changed, err := b.w.execRows(ctx, insertMessages, plain)
	if err != nil {
		return err
	}
	more, err := b.w.execRows(ctx, insertNotedReplies, noted)
	if err != nil {
		return err
	}
	if changed+more < sent {
		if err := b.refuseLosers(ctx, turns); err != nil {
			return err
		}
	}
	for i, o := range b.ops {
		if o.message == nil || o.err != nil {
			continue
		}
		b.committed = append(b.committed, *o.message)
		if o.message.Type.Terminal() {
			b.noteEnded(o, &records[i])
		}
	}
	return nil
}

func (b *batch) refuseLosers(ctx context.Context, turns []any) error {
	won := map[string]bool{}
	err := b.w.queryRows(ctx, winners, turns, func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		won[id] = true
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range b.ops {
		if o.message != nil && o.err == nil && o.message.Type.Terminal() && !won[o.message.ID] {
			o.err = ErrTerminal
		}
	}
	return nil
}
