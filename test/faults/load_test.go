package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

const (
	breath      = 50 * time.Millisecond // how long a caller rests after an error
	offsetShift = 20                    // a stored message's offset on the wire is its offset in the ledger, shifted
)

// load is what callers did and were told.
type load struct {
	t     testing.TB
	node  *node
	agent *agentProcess
	key   string

	expected []beeos.Code // besides those that any outage causes

	stop    context.CancelFunc
	callers sync.WaitGroup

	mu       sync.Mutex
	up       chan struct{} // closed while the server is there
	results  []result      // tools/call that had a result
	messages []beeos.Message
	failed   []attempt // calls that met an error
}

type result struct{ key, text string }

// attempt is a call whose end is open: it can be made again.
type attempt struct {
	key, text string
	channel   string // empty for tools/call
}

// startLoad lets callers loose on the agent at one node: half of them call
// tools, half publish messages, all with idempotency keys.
func startLoad(t testing.TB, n *node, a *agentProcess, key string, expected ...beeos.Code) *load {
	l := &load{t: t, node: n, agent: a, key: key, expected: expected, up: make(chan struct{})}
	close(l.up)
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	for i := range 8 {
		l.callers.Go(func() { l.callTools(ctx, i) })
		l.callers.Go(func() { l.sendMessages(ctx, i) })
	}
	t.Cleanup(func() {
		stop()
		l.callers.Wait()
	})
	return l
}

// down tells callers that the server goes: whoever has met an error waits for
// alive before the next call.
func (l *load) down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
		l.up = make(chan struct{})
	default:
	}
}

func (l *load) alive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.up:
	default:
		close(l.up)
	}
}

// wait returns when the server is there.
func (l *load) wait(ctx context.Context) {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
	}
}

// callTools makes one call after the other.
func (l *load) callTools(ctx context.Context, worker int) {
	c := newCaller(l.t, l.node, l.agent.id, l.key, 1)
	for i := 0; ctx.Err() == nil; i++ {
		l.wait(ctx)
		at := attempt{key: fmt.Sprintf("tool-%d-%d", worker, i), text: fmt.Sprintf("tool %d %d", worker, i)}
		if !l.call(c, at) {
			pause(ctx, breath)
		}
	}
}

// call makes an attempt, the first or another one, and notes how it ended.
func (l *load) call(c *caller, at attempt) (done bool) {
	got, err := c.tool(l.t.Context(), at.text, at.key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.complain(at, err)
		return false
	}
	if got != echoed(at.text) {
		l.t.Errorf("%s was answered %q", at.key, got)
	}
	l.results = append(l.results, result{at.key, at.text})
	return true
}

// sendMessages publishes one message after the other on a channel.
func (l *load) sendMessages(ctx context.Context, worker int) {
	c := newCaller(l.t, l.node, l.agent.id, l.key, 1)
	channel := ""
	for i := 0; ctx.Err() == nil; i++ {
		l.wait(ctx)
		if channel == "" {
			if channel, _ = c.channel(ctx); channel == "" {
				pause(ctx, breath)
			}
			continue
		}
		at := attempt{key: fmt.Sprintf("message-%d-%d", worker, i), text: fmt.Sprintf("message %d %d", worker, i), channel: channel}
		if !l.send(c, at) {
			pause(ctx, breath)
		}
	}
}

func (l *load) send(c *caller, at attempt) (done bool) {
	m, err := c.send(l.t.Context(), at.channel, at.text, at.key)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.complain(at, err)
		return false
	}
	m.Body = at.text
	l.messages = append(l.messages, m)
	return true
}

// complain notes an attempt that failed. It may have met a server that is gone
// or a refusal that says to try again, nothing else. l.mu is held.
func (l *load) complain(at attempt, err error) {
	l.failed = append(l.failed, at)
	if unreachable(err) {
		return
	}
	expected := append([]beeos.Code{beeos.AgentServiceUnavailable, beeos.AgentOffline, beeos.Conflict}, l.expected...)
	if !refused(err) || !slices.Contains(expected, beeos.CodeOf(err)) {
		l.t.Errorf("%s ended with %v", at.key, err)
	}
}

// finish stops the callers and makes every call again that met an error, until
// it has its result.
func (l *load) finish() {
	l.t.Helper()
	l.stop()
	l.callers.Wait()
	l.t.Logf("%d results and %d messages acknowledged, %d calls met an error", len(l.results), len(l.messages), len(l.failed))
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*patience)
	defer cancel()
	c := newCaller(l.t, l.node, l.agent.id, l.key, 4)
	began, rounds := time.Now(), 0
	for ; len(l.failed) > 0; rounds++ {
		open := l.failed
		l.failed = nil
		for _, at := range open {
			if at.channel == "" {
				l.call(c, at)
			} else {
				l.send(c, at)
			}
		}
		if len(l.failed) > 0 && !pause(ctx, 200*time.Millisecond) {
			l.t.Fatalf("%d calls have no result", len(l.failed))
		}
	}
	l.t.Logf("every call had its result %s later, in %d rounds", time.Since(began).Round(100*time.Millisecond), rounds)
	l.node.records().settled(patience) // else what is still under way looks like a repeat
	l.repeat(c)
}

// repeat makes calls again that have their result: it is the same one, and
// the agent hears nothing of it.
func (l *load) repeat(c *caller) {
	l.t.Helper()
	before := len(l.agent.executions())
	for i := 0; i < len(l.results); i += 1 + len(l.results)/100 {
		if got, err := c.tool(l.t.Context(), l.results[i].text, l.results[i].key); err != nil || got != echoed(l.results[i].text) {
			l.t.Errorf("%s again: %q, %v", l.results[i].key, got, err)
		}
	}
	if after := len(l.agent.executions()); after != before {
		l.t.Errorf("%d repeated calls were executed again", after-before)
	}
}

// check compares what callers were told with what the database says.
func (l *load) check() records {
	l.t.Helper()
	r := l.node.records()
	r.settled(patience)
	r.sound(-1)
	l.checkResults(r)
	l.checkMessages(r)
	return r
}

// checkResults: each key names one request, whose one reply is what the
// caller got.
func (l *load) checkResults(r records) {
	l.t.Helper()
	times := map[string]int{}
	for _, e := range l.agent.executions() {
		times[e.text]++
	}
	stored := map[string][]string{} // key -> replies
	r.each(`SELECT i.key, a.type || ' ' || a.body FROM idempotency i JOIN messages a ON a.terminal AND a.in_reply_to = i.turn`,
		func(key, reply string) { stored[key] = append(stored[key], reply) })
	repeated := 0
	for _, got := range l.results {
		if want := []string{"agent_reply " + echoed(got.text)}; !slices.Equal(stored[got.key], want) {
			l.t.Errorf("%s has the result %q in the database, want %q", got.key, stored[got.key], want)
		}
		if n := times[got.text]; n < 1 {
			l.t.Errorf("%s has a result but was never executed", got.key)
		} else if n > 1 {
			repeated++
		}
	}
	l.t.Logf("%d of %d calls were executed more than once", repeated, len(l.results))
	r.none("texts that became two requests", `SELECT count(*) FROM (SELECT body, count(*) AS n FROM messages WHERE type = 'chat_message' GROUP BY body) x WHERE n > 1`)
}

// checkMessages: what was acknowledged stands where the caller was told, once,
// and the offsets of a channel rise with its messages.
func (l *load) checkMessages(r records) {
	l.t.Helper()
	stored := map[string]string{} // id -> channel, offset and text
	r.each(`SELECT id, channel || ' ' || off || ' ' || body FROM messages WHERE type = 'chat_message'`, func(id, text string) { stored[id] = text })
	for _, m := range l.messages {
		if want := fmt.Sprint(m.Channel, " ", m.Offset>>offsetShift, " ", m.Body); stored[m.ID] != want {
			l.t.Errorf("message %s was acknowledged as %q and is stored as %q", m.ID, want, stored[m.ID])
		}
	}
	// Only those of one node: another node's clock is read before the channel's
	// lock is waited for.
	r.none("messages that are older than the one before them", `SELECT count(*) FROM (SELECT created_at,
		lag(created_at) OVER (PARTITION BY channel ORDER BY off) AS before FROM messages WHERE type = 'chat_message') x WHERE created_at < before`)
}
