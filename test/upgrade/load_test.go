//go:build unix && upgrade

package upgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// load is callers that go on while servers are replaced. Each call has an
// idempotency key; one that fails is made once more, with the same key at the next
// node, as a client behind a balancer does.
type load struct {
	t       *testing.T
	name    string // what is said and the keys are this load's own
	doors   []Door
	agentID string

	stop chan struct{}
	done sync.WaitGroup
	n    atomic.Int64 // of the next call
	open atomic.Int64 // calls that are made a second time just now

	mu      sync.Mutex
	asked   []string // texts of calls and streams that were answered
	calls   int
	streams int
	again   int
	waited  int            // of these, while the first try was under way
	why     map[string]int // what made a call be made again
	failed  []error

	// Calls whose agent was at a node that was killed, and of which nobody can tell
	// whether the agent got them: with a key they are not made twice, and are told so.
	uncertain int
	killed    bool // nodes are: then there may be some
}

const (
	callers   = 6
	streamers = 3
	pieces    = 40 // of a stream, one each ten milliseconds
)

func startLoad(t *testing.T, name string, doors []Door, agentID string) *load {
	l := &load{t: t, name: name, doors: doors, agentID: agentID, stop: make(chan struct{}), why: map[string]int{}}
	for range callers {
		l.done.Go(func() { l.run(l.call) })
	}
	for range streamers {
		l.done.Go(func() { l.run(l.stream) })
	}
	return l
}

func (l *load) run(one func(Door, string, int64) error) {
	for {
		select {
		case <-l.stop:
			return
		default:
		}
		n := l.n.Add(1)
		key := fmt.Sprintf("%s-%d", l.name, n)
		err := one(l.doors[n%int64(len(l.doors))], key, n)
		if err == nil {
			continue
		}
		l.mu.Lock()
		l.again++
		l.why[describe(err)]++
		l.mu.Unlock()
		l.open.Add(1)
		err = l.finish(one, key, n)
		l.open.Add(-1)
		l.mu.Lock()
		switch {
		case err == nil:
		case strings.Contains(err.Error(), "whether it took effect is uncertain"):
			l.uncertain++
		default:
			l.failed = append(l.failed, fmt.Errorf("call %d: %w", n, err))
		}
		l.mu.Unlock()
	}
}

// finish makes a call the second time, at the next node. If the first is still under
// way, it asks on there, as the answer says; should that node go as well meanwhile, which
// is the first time for this question, it asks at the one after it.
func (l *load) finish(one func(Door, string, int64) error, key string, n int64) error {
	waited, at := false, n+1
	for deadline := time.Now().Add(startWithin); ; {
		err := one(l.doors[at%int64(len(l.doors))], key, n)
		e, ok := errors.AsType[*beeos.Error](err)
		conflict := ok && e.Code == beeos.Conflict
		if waited && err != nil && !conflict && at == n+1 {
			at++
			continue
		}
		if !conflict || time.Now().After(deadline) {
			return err
		}
		if !waited {
			waited = true
			l.mu.Lock()
			l.waited++
			l.mu.Unlock()
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// describe cuts what differs from error to error.
func describe(err error) string {
	text := err.Error()
	for _, part := range []string{"connection refused", "connection reset", "EOF", "broken pipe"} {
		if strings.Contains(text, part) {
			return part
		}
	}
	return text
}

func (l *load) call(d Door, key string, n int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	c := Call{Surface: []string{"mcp", "rest"}[n/int64(len(l.doors))%2], Key: key, Text: "call " + key}
	got, err := d.Ask(ctx, l.agentID, c)
	if err == nil && got != "echo: "+c.Text {
		err = fmt.Errorf("%q was answered %q", c.Text, got)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.asked = append(l.asked, c.Text)
	return nil
}

func (l *load) stream(d Door, key string, _ int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	text := fmt.Sprintf("stream %d %s", pieces, key)
	var whole *client.Answer
	for ev, err := range d.Stream(ctx, l.agentID, client.InvokeRequest{Message: text, IdempotencyKey: key}) {
		if err != nil {
			return err
		}
		whole = ev.Done
	}
	if whole == nil || whole.IsError || !strings.HasSuffix(whole.Text, fmt.Sprint(pieces-1, " end")) {
		return fmt.Errorf("a stream ended with %+v", whole)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams++
	l.asked = append(l.asked, text)
	return nil
}

// end stops the callers, tells what came of it, and fails the test for each call
// that was not answered, or was not executed exactly once.
func (l *load) end(agents ...*Agent) {
	l.t.Helper()
	close(l.stop)
	l.done.Wait()
	times := map[string]int{}
	for _, a := range agents {
		for text, n := range a.Begun() {
			times[text] += n
		}
	}
	lost, doubled := 0, 0
	for _, text := range l.asked {
		switch n := times[text]; {
		case n == 0:
			lost++
		case n > 1:
			doubled++
		}
	}
	l.t.Logf("%s: %d calls and %d streams, %d of them made a second time, %d of these while the first was still under way (%v): %d uncertain, %d failed, %d lost, %d doubled",
		l.name, l.calls, l.streams, l.again, l.waited, l.why, l.uncertain, len(l.failed), lost, doubled)
	for _, err := range l.failed[:min(5, len(l.failed))] {
		l.t.Error(err)
	}
	if l.uncertain > 0 && !l.killed {
		l.t.Error("calls are uncertain, though no node was killed")
	}
	if len(l.failed)+lost+doubled > 0 || l.calls == 0 || l.streams == 0 {
		l.t.Error("not all calls were answered, and executed once")
	}
}

// more waits until so many more calls have been answered.
func (l *load) more(n int) {
	l.t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.calls
	}
	want := count() + n
	l.await("no more calls are answered", func() bool { return count() >= want })
}

// calm waits until no call is being made a second time.
func (l *load) calm() {
	l.t.Helper()
	l.await("calls that are made again do not end", func() bool { return l.open.Load() == 0 })
}

func (l *load) await(otherwise string, there func() bool) {
	l.t.Helper()
	tick, deadline := time.NewTicker(10*time.Millisecond), time.Now().Add(startWithin)
	defer tick.Stop()
	for !there() {
		if <-tick.C; time.Now().After(deadline) {
			l.t.Fatal(otherwise)
		}
	}
}
