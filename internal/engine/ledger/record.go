package ledger

import (
	"cmp"

	"github.com/beeos/beeos/internal/store/calls"
)

// record is what a message says of a call besides its words: of a request, which
// way it came and when; of its terminal reply, that and how it ended. Together they
// are the record of calls (package calls), which costs no row of its own.
type record struct {
	route, n   int64
	outcome    calls.Outcome
	slow, took int64
	trail      string
	steps      string
}

// recordOf is the record of what an operation appends to a request.
func (b *batch) recordOf(o *op) *record {
	if !o.message.Type.Terminal() {
		return &record{}
	}
	e, ok := b.endings[o.message.InReplyTo]
	if !ok {
		return &record{} // it comes too late, and is not stored
	}
	took := max(0, b.now-e.began)
	r := &record{
		route: e.route, n: calls.Key(o.message.InReplyTo), outcome: calls.OutcomeOf(o.message),
		slow: calls.Slowness(took), took: took, trail: e.trailWith(o.attempt),
	}
	if o.attempt != nil {
		r.steps = string(o.attempt.Steps)
	}
	return r
}

// trailWith is how a request came to its end; by is who brought the reply, if
// anybody did.
func (e *ending) trailWith(by *Attempt) string {
	if by != nil {
		last := *by
		last.Number = cmp.Or(last.Number, int(e.attempt))
		return e.trail + last.line(e.began)
	}
	if e.trail == "" && e.attempt == 1 {
		return "c1 0;" // it was handed out with the request, and nobody brought a reply
	}
	return e.trail
}
