package ledger

import (
	"context"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/database"
)

// Ended is a request that is part of a trace and has its terminal reply.
type Ended struct {
	Turn  string
	Trace string // as its Delivery had it
	Route calls.Route
	Began time.Time     // when it was stored
	Reply beeos.Message // which ended it
	Steps []byte        // JSON: what its agent told of its work; nil = nothing

	trail string
}

// Attempts are who was given the request, first to last.
func (e *Ended) Attempts() []Attempt { return parseTrail(e.trail, e.Began) }

// OnEnded sets who is told that a request with a trace has ended, by whichever
// node stores its reply. It must not block.
func (l *Ledger) OnEnded(f func(*Ended)) { l.ended.Store(&f) }

// tellEnded tells of the requests that the batch has ended.
func (b *batch) tellEnded() {
	tell := b.w.l.ended.Load()
	if tell == nil {
		return
	}
	for _, o := range b.ops {
		m := o.message
		if m == nil || o.err != nil || !m.Type.Terminal() {
			continue
		}
		e, ok := b.endings[m.InReplyTo]
		if !ok || e.trace == "" {
			continue
		}
		done := &Ended{Turn: m.InReplyTo, Trace: e.trace, Route: e.route, Began: database.Moment(e.began), Reply: *m, trail: b.trailOf(o)}
		if o.attempt != nil {
			done.Steps = o.attempt.Steps
		}
		(*tell)(done)
	}
	for o, open := range b.standingOpenings {
		if d := open.Delivery; o.busy != nil && d.Trace != "" {
			route := calls.Route{AgentID: d.AgentID, Caller: open.Message.Publisher, Surface: d.Surface, Tool: d.Tool}
			(*tell)(&Ended{Turn: open.Message.ID, Trace: d.Trace, Route: route, Began: database.Moment(b.now), Reply: *o.busy})
		}
	}
}

// semicolon stands for one in the trace of a trail, where they end words. No
// header has it.
const semicolon = "\t"

// traceWord is a trace as it stands in the trail of a request that has ended.
func traceWord(trace string) string {
	if trace == "" {
		return ""
	}
	return "t " + strings.ReplaceAll(trace, ";", semicolon) + ";"
}

// Trace returns the trace that a request is part of, as its Delivery has it or had
// it; "" = none is known.
func (l *Ledger) Trace(ctx context.Context, turn string) (string, error) {
	// The delivery first: a reply that comes in between is then found, too.
	trace, err := database.GetValue[string](ctx, l.db, "read the trace of a request", `SELECT COALESCE(MAX(trace), '') FROM deliveries WHERE turn = $1`, turn)
	if err != nil || trace != "" {
		return trace, err
	}
	trail, err := database.GetValue[string](ctx, l.db, "read the trace of a reply", `SELECT COALESCE(MAX(trail), '') FROM messages WHERE terminal AND in_reply_to = $1`, turn)
	for word := range strings.SplitSeq(trail, ";") {
		if kept, ok := strings.CutPrefix(word, "t "); ok {
			return strings.ReplaceAll(kept, semicolon, ";"), nil
		}
	}
	return "", err
}
