package trace

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

// Origin is where a request stands in a trace. It is stored with the request:
// whoever hands that out again after a crash, or ends it two days later, has it
// from there. The ids of a request's own spans follow from the request's id, so
// those that are part of them can be made before them, by anybody.
type Origin struct {
	beeos.Trace        // what the request's span is part of
	Spans       bool   // BeeOS makes spans of the request; else it passes the trace on as it came
	Node        string // which has the span of the caller's request under way, and may die with it; "" = there is none
	Outer       string // the span of the caller's program which that is part of; "" = there is none
}

// In the text of an Origin.
const (
	originAbsent = "-"
	originPassed = "off" // in place of the node: no spans are made
)

// String is the Origin as it is stored; "" = there is no trace.
func (o Origin) String() string {
	if o.IsZero() {
		return ""
	}
	node, outer := originAbsent, originAbsent
	switch {
	case !o.Spans && o.State == "":
		return o.Parent
	case !o.Spans:
		node = originPassed
	case o.Node != "":
		node = o.Node
	}
	if o.Outer != "" {
		outer = o.Outer
	}
	text := o.Parent + " " + node + " " + outer
	if o.State != "" {
		text += " " + o.State
	}
	return text
}

// ParseOrigin reads what String wrote.
func ParseOrigin(text string) (o Origin) {
	parent, rest, _ := strings.Cut(text, " ")
	node, rest, _ := strings.Cut(rest, " ")
	outer, state, _ := strings.Cut(rest, " ")
	if o.Trace = beeos.ParseTrace(parent, state); o.IsZero() {
		return Origin{}
	}
	if o.Spans = node != "" && node != originPassed; o.Spans && node != originAbsent {
		o.Node = node
	}
	if outer != originAbsent {
		o.Outer = outer
	}
	return o
}

// At is the place in the trace of what belongs to a request: its own span, if it
// has one.
func (o Origin) At(request string) beeos.Trace {
	if !o.Spans {
		return o.Trace
	}
	return o.Trace.At(RequestSpan(request))
}

// AtAttempt is the place of what an attempt at a request does.
func (o Origin) AtAttempt(request string, attempt int) beeos.Trace {
	if !o.Spans {
		return o.Trace
	}
	return o.Trace.At(AttemptSpan(request, attempt))
}

// RequestSpan is the id of a request's span.
func RequestSpan(request string) string { return derive(request) }

// AttemptSpan is the id of the span of an attempt at a request.
func AttemptSpan(request string, attempt int) string {
	return derive(request + " attempt " + strconv.Itoa(attempt))
}

// StepSpan is the id of the span of a step, unless its agent gave it one.
func StepSpan(request string, attempt, step int) string {
	return derive(request + " attempt " + strconv.Itoa(attempt) + " step " + strconv.Itoa(step))
}

// ApprovalSpan is the id of the span of the wait for an approval.
func ApprovalSpan(approval string) string { return derive("approval " + approval) }

func derive(what string) string {
	sum := sha256.Sum256([]byte(what))
	if binary.NativeEndian.Uint64(sum[:8]) == 0 {
		sum[0] = 1 // no span has the id zero
	}
	return hex.EncodeToString(sum[:8])
}

// fillRandom fills an id, which must not be all zeros.
func fillRandom(id []byte) {
	for i := 0; i < len(id); i += 8 {
		binary.NativeEndian.PutUint64(id[i:], max(1, rand.Uint64()))
	}
}
