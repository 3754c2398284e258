package calltrace

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/telemetry/trace"
	"github.com/beeos/beeos/test/otlp"
)

const (
	entrySpan  = "b7ad6b7169203331"
	callerSpan = "00f067aa0ba902b7"
)

// startMaker returns a Maker that sends to a receiver; of other nodes "living" is
// alive.
func startMaker(t *testing.T) (*Maker, *otlp.Receiver) {
	t.Helper()
	receiver := otlp.Start(t)
	receiver.Use(t)
	tracer, err := trace.Open(t.Context(), "here", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tracer.Close)
	return Start(Options{
		Tracer: tracer, Approvals: storetest.Open(t, storetest.SQLiteURL(t)).Approvals, Node: "here", Log: slog.New(slog.DiscardHandler),
		Alive: func(_ context.Context, node string) bool { return node == "living" },
		Agent: func(_ context.Context, id string) (*beeos.Agent, error) {
			if id == "gone" {
				return nil, errors.New("there is none")
			}
			return &beeos.Agent{ID: id, Name: "echo"}, nil
		},
	}), receiver
}

// endedIn is a request of one trace, as the ledger tells of it.
func endedIn(digit string, o trace.Origin) *ledger.Ended {
	o.Trace = beeos.ParseTrace("00-"+strings.Repeat(digit, 32)+"-"+entrySpan+"-01", "")
	return &ledger.Ended{
		Turn: "request-" + digit, Trace: o.String(), Route: calls.Route{AgentID: "agent_a", Surface: "mcp"}, Began: time.Now().Add(-time.Second),
		Reply: beeos.Message{Type: beeos.AgentReply, Channel: "ch-1", Body: "what was said", CreatedAt: time.Now()},
	}
}

// TestCallTakesThePlaceOfItsEntry: when the span that it is part of died with its
// node, and only then.
func TestCallTakesThePlaceOfItsEntry(t *testing.T) {
	m, receiver := startMaker(t)
	for digit, c := range map[string]struct {
		origin trace.Origin
		parent string
	}{
		"1": {trace.Origin{Spans: true, Node: "here", Outer: callerSpan}, entrySpan},
		"2": {trace.Origin{Spans: true, Node: "living", Outer: callerSpan}, entrySpan},
		"3": {trace.Origin{Spans: true, Node: "dead", Outer: callerSpan}, callerSpan},
		"4": {trace.Origin{Spans: true, Node: "dead"}, ""},
		"5": {trace.Origin{Spans: true}, entrySpan}, // an agent has called
	} {
		m.Take(endedIn(digit, c.origin))
		s := receiver.Await(t, strings.Repeat(digit, 32), "invoke_agent echo").Span(t, "invoke_agent echo")
		if s.Parent != c.parent || s.ID != trace.RequestSpan("request-"+digit) || s.Failed {
			t.Errorf("%+v: part of %q, want %q", c.origin, s.Parent, c.parent)
		}
	}
	m.Close()
}

// TestSpansOfOddCalls: of what nobody looks at there are none, of what went wrong
// and of agents that are gone there are.
func TestSpansOfOddCalls(t *testing.T) {
	m, receiver := startMaker(t)
	m.Take(endedIn("1", trace.Origin{})) // passed on
	unsampled := endedIn("2", trace.Origin{Spans: true})
	unsampled.Trace = strings.Replace(unsampled.Trace, "-01", "-00", 1)
	m.Take(unsampled)
	lost := endedIn("3", trace.Origin{Spans: true})
	lost.Route.AgentID, lost.Reply.Type, lost.Reply.StopReason = "gone", beeos.AgentReplyError, beeos.StopAgentLost
	m.Take(lost)
	m.Close()
	s := receiver.Await(t, strings.Repeat("3", 32), "invoke_agent").Span(t, "invoke_agent")
	if !s.Failed || s.Attrs["error.type"] != "agent_lost" || s.Attrs["gen_ai.agent.id"] != "gone" || lost.Reply.Body != "" {
		t.Errorf("%+v", s)
	}
	if all := receiver.All(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	if Start(Options{}) != nil {
		t.Error("spans are made for nobody")
	}
	(*Maker)(nil).Close()
}
