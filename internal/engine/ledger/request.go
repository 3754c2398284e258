package ledger

import (
	"bytes"
	"context"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/database"
)

// Opening is a request: a chat_message, with the channel it opens or goes on,
// the idempotency key that guards it and the delivery that it becomes. All of
// it commits together or not at all.
type Opening struct {
	Channel     beeos.Channel
	Fresh       bool // the channel was made for this message; no one else can know it yet
	Known       bool // the channel must be there already
	Message     beeos.Message
	Credential  string // the key or the app with which it came; empty = the person alone
	Surface     string // by which it came
	Tool        string // of the agent's; empty = the agent itself
	Idempotency *Idempotency
	Delivery    *Delivery
	ReplayOf    string          // the request that this one repeats; empty = none
	Past        []beeos.Message // what a fresh channel begins with, before the message
	Within      time.Duration   // how long to wait for its being stored; 0 = a while

	route int64 // its number, once it is known
}

// Idempotency guards a request against being made twice.
type Idempotency struct {
	Scope, Key  string
	Fingerprint []byte // of the payload
	Expires     time.Time
}

// Duplicate is the earlier request that an idempotency key already names.
type Duplicate struct{ Turn, Channel string }

// BeginRequest appends a request. Message gets its offset. With a known idempotency
// key nothing is written and the earlier request comes back as dup; another
// payload under that key is a Conflict. For a busy agent in busy_reject mode
// the request is stored together with the agent_busy that answers it.
func (l *Ledger) BeginRequest(ctx context.Context, o *Opening) (dup *Duplicate, busy *beeos.Message, err error) {
	w := &op{opening: o, within: o.Within}
	if err := l.writer(o.Channel.ID).submit(ctx, w); err != nil {
		return nil, nil, err
	}
	return w.dup, w.busy, nil
}

// FindByKey is the earlier request that a key names; nil = there is none. Another
// payload under the key is a Conflict.
func (l *Ledger) FindByKey(ctx context.Context, k *Idempotency) (*Duplicate, error) {
	var dup Duplicate
	var print []byte
	err := l.db.QueryRowContext(ctx, `SELECT turn, channel, fingerprint FROM idempotency WHERE scope = $1 AND key = $2 AND expires_at > $3`,
		k.Scope, k.Key, database.Micros(l.opt.Now())).Scan(&dup.Turn, &dup.Channel, &print)
	switch {
	case database.IsAbsent(err):
		return nil, nil
	case err != nil:
		return nil, database.Explain("read an idempotency key", err)
	case !k.fits(print):
		return nil, errReused
	}
	return &dup, nil
}

// fits reports whether a key that has that fingerprint stands for the same payload.
func (k *Idempotency) fits(stored []byte) bool {
	return bytes.Equal(stored, k.Fingerprint) || bytes.Equal(stored, database.UnknownFingerprint)
}

// Append stores a message that ends nothing: input required, reasoning, a
// cancel, a continue.
func (l *Ledger) Append(ctx context.Context, m beeos.Message) (beeos.Message, error) {
	if m.Type.Terminal() {
		return beeos.Message{}, beeos.Errorf(beeos.InvalidBody, "message type %s ends a turn", m.Type)
	}
	return l.append(ctx, &op{message: &m})
}

// AppendAnswer is Append for what a request waits for since a message of type to. Of
// several answers the first is stored; the others are a Conflict.
func (l *Ledger) AppendAnswer(ctx context.Context, m beeos.Message, to beeos.MessageType) (beeos.Message, error) {
	return l.append(ctx, &op{message: &m, answers: to})
}

// Finish stores the terminal reply to the request m.InReplyTo. Whoever comes
// second, from whichever replica, gets MessageTerminal.
func (l *Ledger) Finish(ctx context.Context, m beeos.Message) (beeos.Message, error) {
	return l.FinishAttempt(ctx, m, nil)
}

// FinishAttempt is Finish by an instance that was given the request.
func (l *Ledger) FinishAttempt(ctx context.Context, m beeos.Message, by *Attempt) (beeos.Message, error) {
	if !m.Type.Terminal() || m.InReplyTo == "" {
		return beeos.Message{}, beeos.Errorf(beeos.InvalidBody, "message type %s in reply to %q ends no turn", m.Type, m.InReplyTo)
	}
	return l.append(ctx, &op{message: &m, attempt: by})
}

func (l *Ledger) append(ctx context.Context, o *op) (beeos.Message, error) {
	if o.message.ID == "" {
		o.message.ID = beeos.NewID()
	}
	if err := l.writer(o.message.Channel).submit(ctx, o); err != nil {
		return beeos.Message{}, err // the message may still be the writer's
	}
	return *o.message, nil
}

// ErrTerminal is the answer to the second terminal reply.
var ErrTerminal = beeos.Errorf(beeos.MessageTerminal, "this message already has its final reply; nothing was changed")
