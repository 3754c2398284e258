package ledger

import (
	"cmp"

	"github.com/beeos/beeos/internal/store/calls"
)

// record is what a terminal reply says of its call besides its words. Together with
// the route and the time of the request it is the record of calls (package calls),
// which costs no row of its own.
type record struct {
	trail    string
	route, n int64
	outcome  calls.Outcome
	slow     int64
	steps    string
}

// isNoted is true of calls that are looked for by how they went, or have steps.
// That the others went well and were quick is what an empty record says.
func (r *record) isNoted() bool { return r.outcome != calls.OK || r.slow > 0 || r.steps != "" }

// recordOf is the record of the call that an operation ends.
func (b *batch) recordOf(o *op) record {
	e, ok := b.endings[o.message.InReplyTo]
	if !ok {
		return record{} // it comes too late, and is not stored
	}
	r := record{
		trail: e.trailWith(o.attempt) + traceWord(e.trace), route: e.route, n: calls.Key(o.message.InReplyTo),
		outcome: calls.OutcomeOf(o.message), slow: calls.Slowness(b.now - e.began),
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
