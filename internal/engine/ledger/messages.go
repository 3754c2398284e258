package ledger

import (
	"context"

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
	// As nearly all replies are.
	insertPlainReplies = newStatement(
		`INSERT INTO messages (channel, off, id, type, in_reply_to, terminal, state, stop_reason, publisher, body, parts, payload, created_at, trail) VALUES `,
		`(?,?,?,'`+string(beeos.AgentReply)+`',?,TRUE,'`+beeos.StateCompleted+`','`+beeos.StopEndTurn+`',?,?,'',?,?,?)`, ` ON CONFLICT (in_reply_to) WHERE terminal DO NOTHING`)
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
	err := b.w.execRows(ctx, insertRequests, values)
	return err
}

// insertPast writes what fresh channels begin with. It is of no agent: nobody is
// asked again.
func (b *batch) insertPast(ctx context.Context) error {
	var values []any
	for _, open := range b.standingOpenings {
		for i := range open.Past {
			values = b.appendMessage(values, &open.Past[i], "")
		}
	}
	err := b.w.execRows(ctx, insertMessages, values)
	return err
}

// appendMessage adds the row of a message to values.
func (b *batch) appendMessage(values []any, m *beeos.Message, trail string) []any {
	b.setTime(m)
	return append(values, m.Channel, m.Offset, m.ID, string(m.Type), m.InReplyTo, m.Type.Terminal(), m.State, m.StopReason,
		m.Publisher, m.Body, string(m.Parts), string(m.Payload), b.now, trail)
}

func (b *batch) setTime(m *beeos.Message) {
	m.CreatedAt = database.Moment(b.now)
	m.UpdatedAt = m.CreatedAt
}

// insertMessages writes all other messages. A terminal one that finds another in
// its place is refused; its offset stays a hole.
func (b *batch) insertMessages(ctx context.Context) error {
	var turns []any
	records := make([]record, len(b.ops))
	insert := insertPlainReplies // rows come in the order of their offsets, so all by the same statement
	for i, o := range b.ops {
		if o.message == nil || o.err != nil {
			continue
		}
		if insert == insertPlainReplies && !isPlainReply(o.message) {
			insert = insertMessages
		}
		if !o.message.Type.Terminal() {
			continue
		}
		records[i] = b.recordOf(o)
		turns = append(turns, o.message.InReplyTo)
		if records[i].isNoted() {
			insert = insertNotedReplies
		}
	}
	var values []any
	for i, o := range b.ops {
		if o.message == nil || o.err != nil {
			continue
		}
		m, r := o.message, &records[i]
		if insert == insertPlainReplies {
			b.setTime(m)
			values = append(values, m.Channel, m.Offset, m.ID, m.InReplyTo, m.Publisher, m.Body, string(m.Payload), b.now, r.trail)
			continue
		}
		values = b.appendMessage(values, m, r.trail)
		if insert == insertNotedReplies {
			values = append(values, r.route, r.n, int64(r.outcome), r.slow, r.steps)
		}
	}
	if err := b.insertWinners(ctx, insert, values, turns); err != nil {
		return err
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

func isPlainReply(m *beeos.Message) bool {
	return m.Type == beeos.AgentReply && m.State == beeos.StateCompleted && m.StopReason == beeos.StopEndTurn && len(m.Parts) == 0
}

// insertWinners inserts messages, of which those that end the turns are refused where
// another one did before. Whose delivery has just been deleted is the first.
func (b *batch) insertWinners(ctx context.Context, insert *statement, values []any, turns []any) error {
	if len(b.endings) == len(turns) {
		return b.w.execRows(ctx, insert, values)
	}
	changed, err := b.w.changeRows(ctx, insert, values)
	if err != nil || changed == int64(len(values)/insert.columns()) {
		return err
	}
	return b.refuseLosers(ctx, turns)
}

func (b *batch) refuseLosers(ctx context.Context, turns []any) error {
	won := map[string]bool{}
	err := b.w.queryRows(ctx, winners, turns, func(r database.Row) error {
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
