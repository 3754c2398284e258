package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/otlp"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

const (
	tracedCall   = "0af7651916cd43dd8448eb211c80319c"
	tracedCaller = "b7ad6b7169203331"
)

// traced is a call that is part of a trace and waits for a person.
type traced struct {
	t        *testing.T
	ctx      context.Context // of the caller, at its place in the trace
	receiver *otlp.Receiver
	key      string
	agent    spec
	id       string // the agent's
	answer   chan error
}

// sendSpans are the settings of a server that sends its spans to a receiver.
func sendSpans(r *otlp.Receiver) (settings []string) {
	for name, value := range r.Env() {
		settings = append(settings, name+"="+value)
	}
	return settings
}

// callTraced makes the call at one node, for an agent that is connected to
// another or to the same, and returns once a person is asked.
func callTraced(t *testing.T, r *otlp.Receiver, key string, at, gateway *node) (*traced, *agentProcess, client.Approval) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	c := &traced{t: t, receiver: r, key: key, answer: make(chan error, 1)}
	c.ctx = beeos.WithTrace(ctx, beeos.ParseTrace("00-"+tracedCall+"-"+tracedCaller+"-01", ""))
	c.agent = spec{Name: "files", Gateway: gateway.agents, Key: key, Identity: t.TempDir() + "/id.json", Again: beeos.RedeliverAlways}
	a := startAgent(t, "agent", c.agent)
	c.id = a.id
	at.online(key, a.id, true)
	go func() { c.answer <- c.invoke(at) }()
	return c, a, waiting(ctx, t, client.New(gateway.rest, key))
}

// invoke makes the call, or waits for the one that was made.
func (c *traced) invoke(at *node) error {
	for {
		got, err := client.New(at.rest, c.key).Invoke(c.ctx, c.id, client.InvokeRequest{Message: "save 1,2,3", IdempotencyKey: "once"})
		switch {
		case beeos.CodeOf(err) == beeos.Conflict && err != nil: // it is under way
		case err == nil && got.Text != echoed("save 1,2,3"):
			return fmt.Errorf("answered %q", got.Text)
		default:
			return err
		}
		if !pause(c.ctx, 20*time.Millisecond) {
			return c.ctx.Err()
		}
	}
}

// collected is the trace once everything has come, whole: no span is part of one
// that is not there, and none is there twice.
func (c *traced) collected() otlp.Trace {
	c.t.Helper()
	tr := c.receiver.Await(c.t, tracedCall, "invoke_agent files", "approval save_csv", "execute_tool save_csv", "POST /api/v1/agents/{agentId}/invoke")
	tr.Check(c.t)
	if gaps := tr.Gaps(tracedCaller); len(gaps) > 0 {
		c.t.Errorf("these spans are part of some that are not there: %v\n%s", gaps, tr)
	}
	for _, s := range c.receiver.All() {
		if s.Trace != tracedCall {
			c.t.Errorf("a span of another trace: %+v", s)
		}
	}
	if n := len(tr.Named("invoke_agent files")); n != 1 {
		c.t.Errorf("the call has %d spans\n%s", n, tr)
	}
	return tr
}

// ends are why the attempts ended, first to last.
func ends(tr otlp.Trace) (list []string) {
	for _, s := range tr.Named("attempt") {
		list = append(list, s.Attrs["beeos.attempt.number"]+s.Attrs["beeos.attempt.end"])
	}
	slices.Sort(list)
	return list
}

// TestTraceOutlivesEverybody: while a call waits for a person, its agent is
// killed, then its server. What the receiver has in the end is one trace without
// gaps, with each attempt and the wait; so has the page of the call.
func TestTraceOutlivesEverybody(t *testing.T) {
	t.Parallel()
	receiver := otlp.Start(t)
	n := newNode(t, "server", append(sendSpans(receiver), "BEEOS_DURABILITY=fsync", "WEB_ADDR="+ports.Addr(t))...)
	key := n.owner()
	n.start()
	c, a, asked := callTraced(t, receiver, key, n, n)

	a.Kill()
	heir := startAgent(t, "agent again", c.agent)
	begun(t, 1, heir)
	n.proc.Kill()
	n.start()
	if err := <-c.answer; err == nil {
		t.Error("the caller was answered by a server that is dead")
	}
	heir.connected(1)
	decideTogether(c.ctx, t, asked.ID, client.New(n.rest, key))
	if err := c.invoke(n); err != nil {
		t.Fatal(err)
	}

	tr := c.collected()
	call, wait := tr.Span(t, "invoke_agent files"), tr.Span(t, "approval save_csv")
	if call.Parent != tracedCaller || wait.Parent != call.ID || !strings.HasPrefix(wait.Attrs["beeos.approval.decided_by"], "user:") {
		t.Errorf("%+v\n%+v", call, wait)
	}
	if got := ends(tr); len(got) < 3 || got[0] != "1gone" || got[len(got)-1] != fmt.Sprint(len(got)) {
		t.Errorf("the attempts ended %q", got)
	}
	for _, s := range tr.Named("attempt") {
		if s.Parent != call.ID || s.Failed != (s.Attrs["beeos.attempt.end"] != "") {
			t.Errorf("%+v", s)
		}
	}
	if step := tr.Span(t, "execute_tool save_csv"); step.Start.Before(call.Start) || step.End.After(call.End) {
		t.Errorf("the step, from %s to %s, is not part of the call, from %s to %s", step.Start, step.End, call.Start, call.End)
	}
	c.checkPage(n, tr)
}

// TestTraceOverTwoNodes: one takes the call and another has the agent. The span
// of the caller's request is what the call is part of, unless it died with its
// node: then the call takes its place.
func TestTraceOverTwoNodes(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"both live": false, "the caller's is killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := otlp.Start(t)
			p := newPair(t, pgtest.URL(t), nil, sendSpans(receiver)...)
			c, _, asked := callTraced(t, receiver, p.key, p.a, p.b)
			if killed {
				p.a.proc.Kill()
				if err := <-c.answer; err == nil {
					t.Error("the caller was answered by a server that is dead")
				}
				go func() { c.answer <- c.invoke(p.b) }()
			}
			decideTogether(c.ctx, t, asked.ID, client.New(p.b.rest, p.key))
			if err := <-c.answer; err != nil {
				t.Fatal(err)
			}
			tr := c.collected()
			call := tr.Span(t, "invoke_agent files")
			if entry := tr.Span(t, "POST /api/v1/agents/{agentId}/invoke"); !killed && call.Parent != entry.ID || killed && call.Parent != tracedCaller {
				t.Errorf("the call is part of %s\n%s", call.Parent, tr)
			}
		})
	}
}
