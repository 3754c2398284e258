package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// TestOneKeyOneExecution: a hundred calls with one idempotency key, half of
// them at each of two servers, are one execution and one result, also for who
// asks after both servers have died.
func TestOneKeyOneExecution(t *testing.T) {
	const calls = 100
	p := meshed(t)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: p.a.agents, Key: p.key, Identity: t.TempDir() + "/id.json"})
	p.b.online(p.key, a.id, true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	nodes := []*node{p.a, p.b}
	callers := []*caller{newCaller(t, p.a, a.id, p.key, calls), newCaller(t, p.b, a.id, p.key, calls)}

	ends := make(chan error, calls)
	for i := range calls {
		go func() { ends <- judgeKeyed(ctx, callers[i%2], "hold on", "one key") }()
	}
	for range calls - 1 {
		if err := <-ends; beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("while the first is in flight: %v, want conflict", err)
		}
	}
	begun(t, 1, a)
	a.release()
	if err := <-ends; err != nil {
		t.Errorf("the first: %v", err)
	}
	same := func(when string) {
		t.Helper()
		for _, c := range callers {
			if err := judgeKeyed(ctx, c, "hold on", "one key"); err != nil {
				t.Errorf("%s, at %s: %v", when, c.node.name, err)
			}
			if _, err := c.tool(ctx, "something else", "one key"); beeos.CodeOf(err) != beeos.Conflict {
				t.Errorf("%s, another payload at %s: %v, want conflict", when, c.node.name, err)
			}
		}
		if n := len(a.executions()); n != 1 {
			t.Errorf("%s: %d executions", when, n)
		}
	}
	same("afterwards")
	before := a.connections()
	for _, n := range nodes {
		n.proc.Kill()
	}
	for _, n := range nodes {
		n.start()
	}
	a.connected(before)
	same("after both servers died")

	t.Run("other tenants", func(t *testing.T) {
		k, err := client.New(p.a.rest, p.key).CreateKey(ctx, "", client.KeyRequest{Name: "second", RatePerMinute: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if err := judgeKeyed(ctx, newCaller(t, p.a, a.id, k.Secret, 1), "hold on", "one key"); err != nil || len(a.executions()) != 2 {
			t.Errorf("another credential: %v, %d executions", err, len(a.executions()))
		}
		key := p.b.user("somebody@example.com")
		own := startAgent(t, "their agent", spec{Name: "echo", Gateway: p.b.agents, Key: key, Identity: t.TempDir() + "/id.json"})
		if err := judgeKeyed(ctx, newCaller(t, p.b, own.id, key, 1), "their own", "one key"); err != nil || len(own.executions()) != 1 {
			t.Errorf("another user: %v, %d executions", err, len(own.executions()))
		}
		if _, err := newCaller(t, p.b, a.id, key, 1).tool(ctx, "hold on", "one key"); err == nil {
			t.Error("another user got the result of a stranger's call")
		}
	})
	p.a.records().sound(3)
}

func judgeKeyed(ctx context.Context, c *caller, text, key string) error {
	got, err := c.tool(ctx, text, key)
	return judge(text, got, err)
}

// crash is an agent that dies between its work and its reply.
type crash struct {
	name   string
	again  beeos.Redelivery
	text   string
	repeat bool // another instance may execute it

	spec  spec
	first *agentProcess
	call  *caller
	ended chan error
}

// TestCrashBeforeTheReplyIsStored: the agent has done its work, and then it
// dies, alone or with the server. No other instance does the work again unless
// the agent has said that it may, and the caller is told which it was.
func TestCrashBeforeTheReplyIsStored(t *testing.T) {
	t.Parallel() // it waits more than it works
	const plain, signed = "hold", "hold after a sign"
	for name, server := range map[string]bool{"the agent dies": false, "both die": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCrashes(t, server, []*crash{
				{name: "default", again: beeos.RedeliverDefault, text: plain},
				{name: "never", again: beeos.RedeliverNever, text: plain},
				{name: "begun", again: beeos.RedeliverBeforeStart, text: signed},
				{name: "not-begun", again: beeos.RedeliverBeforeStart, text: plain, repeat: true},
				{name: "always", again: beeos.RedeliverAlways, text: signed, repeat: true},
			})
		})
	}
}

func testCrashes(t *testing.T, server bool, crashes []*crash) {
	n := newNode(t, "server")
	key := n.owner()
	n.start()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	for _, c := range crashes {
		c.begin(ctx, t, n, key)
	}
	n.records().until("the start is noted where it matters", func(r records) bool {
		return r.number(`SELECT count(*) FROM deliveries WHERE started`) == 1
	})
	if server {
		n.proc.Kill()
	}
	for _, c := range crashes {
		c.first.Kill()
	}
	if server {
		n.start()
	}
	began := time.Now()
	heirs := map[*crash]*agentProcess{}
	for _, c := range crashes { // all at once: an agent that stays away for 30 seconds is lost
		heirs[c] = launchAgent(t, c.name+", second instance", c.spec)
	}
	for _, heir := range heirs {
		heir.connected(0)
		heir.release()
	}
	for _, c := range crashes {
		if !server {
			c.check(t, "the caller", <-c.ended)
		}
		c.check(t, "a retry", retryKeyed(ctx, c.call, c.text))
		c.check(t, "another retry", judgeKeyed(ctx, c.call, c.text, "payment"))
		switch done := heirs[c].executions(); {
		case !c.repeat && len(done) != 0:
			t.Errorf("%s: executed again: %v", c.name, done)
		case c.repeat && (len(done) != 1 || done[0].attempt != 2):
			t.Errorf("%s: the second instance has executed %v, want attempt 2", c.name, done)
		}
	}
	t.Logf("all ends known after %s", time.Since(began).Round(time.Second))
	n.records().sound(len(crashes))
}

// begin lets an agent work on a call.
func (c *crash) begin(ctx context.Context, t *testing.T, n *node, key string) {
	t.Helper()
	c.spec = spec{Name: c.name, Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json", Again: c.again}
	c.first = startAgent(t, c.name, c.spec)
	c.call = newCaller(t, n, c.first.id, key, 2)
	c.ended = make(chan error, 1)
	go func() { c.ended <- judgeKeyed(ctx, c.call, c.text, "payment") }()
	begun(t, 1, c.first)
}

// check: a repeat gives the result; without one the outcome is uncertain. Whoever
// still waits when that is not known yet hears that the agent is away.
func (c *crash) check(t *testing.T, who string, err error) {
	t.Helper()
	away := who == "the caller" && beeos.CodeOf(err) == beeos.AgentServiceUnavailable && strings.Contains(err.Error(), "may come back")
	switch {
	case away:
	case c.repeat && err != nil:
		t.Errorf("%s: %s hears %v, want the result", c.name, who, err)
	case !c.repeat && (err == nil || beeos.CodeOf(err) != beeos.InternalError || !strings.Contains(err.Error(), "uncertain")):
		t.Errorf("%s: %s hears %v, want that the outcome is uncertain", c.name, who, err)
	}
}

// retryKeyed calls again for as long as the first call is in flight.
func retryKeyed(ctx context.Context, c *caller, text string) error {
	for {
		err := judgeKeyed(ctx, c, text, "payment")
		if beeos.CodeOf(err) != beeos.Conflict || !pause(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// TestAgentOutlivesItsServer: the server dies, the agent works on. Nobody
// else gets the work and it is not given up.
func TestAgentOutlivesItsServer(t *testing.T) {
	n := newNode(t, "server")
	key := n.owner()
	n.start()
	s := spec{Name: "pay", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"}
	a := startAgent(t, "agent", s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	call := newCaller(t, n, a.id, key, 2)
	ended := make(chan error, 1)
	go func() { ended <- judgeKeyed(ctx, call, "hold", "payment") }()
	begun(t, 1, a)
	before := a.connections()
	n.proc.Kill()
	if err := <-ended; !unreachable(err) {
		t.Errorf("the caller of a dead server hears %v", err)
	}
	n.start()
	a.connected(before)
	other := startAgent(t, "another instance", s)
	n.records().until("the agent holds the request again", func(r records) bool {
		return r.number(`SELECT count(*) FROM deliveries WHERE leased AND attempt = 2`) == 1
	})
	a.release()
	if err := retryKeyed(ctx, call, "hold"); err != nil {
		t.Errorf("a retry: %v", err)
	}
	if mine, theirs := len(a.executions()), len(other.executions()); mine != 1 || theirs != 0 {
		t.Errorf("%d and %d executions", mine, theirs)
	}
	n.records().sound(1)
}
