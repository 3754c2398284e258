package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

// node is one BeeOS without surfaces.
type node struct {
	*Calls
	ledger *ledger.Ledger
	bus    *bus.Bus
	db     *store.Store
}

// start returns a node that runs.
func start(t testing.TB, dsn string, busOpt bus.Options, tune func(*Options)) *node {
	t.Helper()
	n := build(t, dsn, busOpt, tune)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n
}

// build returns one that does nothing by itself.
func build(t testing.TB, dsn string, busOpt bus.Options, tune func(*Options)) *node {
	t.Helper()
	db, err := store.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(t.Context(), busOpt)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), db.DB, ledger.Options{Committed: Committed(b)})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b, RateLimit: 1e6, Timeout: 10 * time.Second}
	if tune != nil {
		tune(&opt)
	}
	t.Cleanup(func() {
		l.Close()
		b.Close()
		db.Close()
	})
	if opt.Files != nil {
		opt.Files.Table = db.Files
	}
	return &node{New(opt), l, b, db}
}

func lone(t testing.TB, tune func(*Options)) *node {
	return start(t, ownFile(t), bus.Options{}, tune)
}

func ownFile(t testing.TB) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "b.db") + "?durability=os"
}

func anAgent(mode beeos.DeliveryMode) *beeos.Agent {
	return &beeos.Agent{ID: "agent_a", OwnerID: "u", Name: "a", Definition: beeos.Definition{DeliveryMode: mode, Redelivery: beeos.RedeliverAlways}}
}

func aCall(a *beeos.Agent, text string) *Request {
	return &Request{
		Agent: a, Surface: "test", Body: text,
		Caller: beeos.Caller{Kind: beeos.ByUserKey, UserID: "u", CredentialID: "k1"},
	}
}

// answer serves an agent on a node the way an edge would, until stop or the test's end.
func (n *node) answer(t *testing.T, agentID string, work func(d bus.Dispatch, text string) *beeos.Message) (stop func()) {
	t.Helper()
	var wg sync.WaitGroup
	unserve, err := n.bus.Serve(agentID, func(d bus.Dispatch) bool {
		var f beeos.Frame
		if err := json.Unmarshal(d.Frame, &f); err != nil {
			t.Errorf("frame: %v in %s", err, d.Frame)
			return false
		}
		wg.Go(func() {
			m := work(d, f.Body)
			if m == nil {
				return
			}
			m.Channel, m.InReplyTo = d.Channel, d.MessageID
			if _, err := n.ledger.Finish(context.Background(), *m); err != nil && beeos.CodeOf(err) != beeos.MessageTerminal {
				t.Error(err)
			}
		})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() { unserve(); wg.Wait() })
	t.Cleanup(stop) // before the ledger closes
	n.Kick(agentID)
	return stop
}

func says(text string) *beeos.Message { return &beeos.Message{Type: beeos.AgentReply, Body: text} }

func TestCallAndReply(t *testing.T) {
	var mu sync.Mutex
	var records []CallRecord
	n := lone(t, func(o *Options) {
		o.OnCall = func(r CallRecord) { mu.Lock(); records = append(records, r); mu.Unlock() }
	})
	defer n.answer(t, "agent_a", func(_ bus.Dispatch, text string) *beeos.Message { return says("you said " + text) })()
	m, err := Last(n.Do(t.Context(), aCall(anAgent(beeos.DeliverPush), `quotes " and 世界`)))
	if err != nil || m.Body != `you said quotes " and 世界` {
		t.Fatalf("Last = %+v, %v", m, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(records) != 1 || records[0].Outcome != "ok" || records[0].What != "message" {
		t.Errorf("records %+v", records)
	}
}

func TestOfflinePushIsRefusedAtOnceAndLeavesNoTrace(t *testing.T) {
	n := lone(t, nil)
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Channel = beeos.NewChannelID()
	fastest := time.Hour // of a few: the machine may be busy
	for range 5 {
		start := time.Now()
		_, err := Last(n.Do(t.Context(), r))
		if beeos.CodeOf(err) != beeos.AgentOffline {
			t.Fatalf("err = %v; want agent_offline", err)
		}
		fastest = min(fastest, time.Since(start))
	}
	if fastest > 100*time.Millisecond {
		t.Errorf("took %s", fastest)
	}
	if _, err := n.ledger.Channel(t.Context(), r.Channel); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("something was stored: %v", err)
	}
}

func TestNotReachableAgentDoesNotExist(t *testing.T) {
	n := lone(t, nil)
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Caller.UserID = "somebody-else"
	r.Agent.Visibility = beeos.VisiblePrivate
	if _, err := Last(n.Do(t.Context(), r)); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("err = %v; want agent_not_found", err)
	}
}

func TestQueueWaitsForItsAgentAndRunsInOrder(t *testing.T) {
	n := lone(t, nil)
	a := anAgent(beeos.DeliverQueue)
	a.Definition.Lane = beeos.LaneAgent
	var turns []string
	for i := range 5 { // nobody is there yet
		m, err := n.Send(t.Context(), *aCall(a, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, m.ID)
	}
	var mu sync.Mutex
	var order []string
	running := 0
	stop := n.answer(t, a.ID, func(_ bus.Dispatch, text string) *beeos.Message {
		mu.Lock()
		running++
		if running > 1 {
			t.Error("two at once")
		}
		order = append(order, text)
		running--
		mu.Unlock()
		return says(text)
	})
	defer stop()
	for i, turn := range turns {
		m, err := n.Wait(t.Context(), turn, 10*time.Second)
		if err != nil || m.Body != fmt.Sprint(i) {
			t.Fatalf("Wait = %+v, %v", m, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := fmt.Sprint(order); got != "[0 1 2 3 4]" {
		t.Errorf("order %s", got)
	}
}

// A lane is a session: the channel that a caller keeps, or the caller itself.
func TestLanes(t *testing.T) {
	queue, serial := anAgent(beeos.DeliverQueue), anAgent(beeos.DeliverQueue)
	serial.Definition.Lane = beeos.LaneAgent
	of := func(a *beeos.Agent, change func(*Request)) string {
		r := aCall(a, "x")
		change(r)
		ch, fresh := r.channel()
		return lane(a, &ch, fresh)
	}
	plain := func(*Request) {}
	conversation := func(r *Request) { r.Kind = beeos.KindConversation }
	other := func(r *Request) { r.Caller.UserID = "v" }
	context := func(id string) func(*Request) { return func(r *Request) { r.ContextID = id } }
	for _, c := range []struct {
		name string
		a, b string
		same bool
	}{
		{"one caller without a session", of(queue, plain), of(queue, plain), true},
		{"two callers without a session", of(queue, plain), of(queue, other), false},
		{"one context", of(queue, context("1")), of(queue, context("1")), true},
		{"two new conversations", of(queue, conversation), of(queue, conversation), false},
		{"two contexts", of(queue, context("1")), of(queue, context("2")), false},
		{"a serial agent", of(serial, context("1")), of(serial, other), true},
		{"an agent that pushes", of(anAgent(beeos.DeliverPush), plain), "", true},
		{"an agent that rejects", of(anAgent(beeos.DeliverBusyReject), plain), of(anAgent(beeos.DeliverBusyReject), other), true},
	} {
		if (c.a == c.b) != c.same {
			t.Errorf("%s: lanes %q and %q", c.name, c.a, c.b)
		}
	}
}

func TestBusyRejectAnswersTheSecondAtOnce(t *testing.T) {
	n := lone(t, nil)
	started, finish := make(chan struct{}), make(chan struct{})
	defer n.answer(t, "agent_a", func(bus.Dispatch, string) *beeos.Message {
		close(started)
		<-finish
		return says("done")
	})()
	a := anAgent(beeos.DeliverBusyReject)
	first := make(chan error, 1)
	go func() { _, err := Last(n.Do(context.Background(), aCall(a, "1"))); first <- err }()
	<-started
	m, err := Last(n.Do(t.Context(), aCall(a, "2")))
	if err != nil || m.Type != beeos.AgentBusy {
		t.Errorf("second call: %+v, %v; want agent_busy", m, err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestIdempotentRetry(t *testing.T) {
	n := lone(t, nil)
	var mu sync.Mutex
	runs := 0
	leave := n.answer(t, "agent_a", func(_ bus.Dispatch, text string) *beeos.Message {
		mu.Lock()
		defer mu.Unlock()
		runs++
		return says(fmt.Sprint(text, " ", runs))
	})
	call := func(key, text string) (*beeos.Message, error) {
		r := aCall(anAgent(beeos.DeliverPush), text)
		r.IdempotencyKey = key
		return Last(n.Do(t.Context(), r))
	}
	first, err := call("k", "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		if !there {
			leave()
		}
		again, err := call("k", "x")
		if err != nil || again.ID != first.ID || again.Body != "x 1" {
			t.Errorf("repeat = %+v, %v; want the stored reply; is the agent there? %v", again, err, there)
		}
		if _, err := call("k", "y"); beeos.CodeOf(err) != beeos.Conflict {
			t.Errorf("other payload: %v; want conflict; is the agent there? %v", err, there)
		}
	}
	if _, err := call("new", "x"); beeos.CodeOf(err) != beeos.AgentOffline {
		t.Errorf("a new call: %v; want agent_offline", err)
	}
	if mu.Lock(); runs != 1 {
		t.Errorf("the agent ran %d times", runs)
	}
	mu.Unlock()
}

func TestRepeatInFlightIsAConflict(t *testing.T) {
	n := lone(t, nil)
	started, finish := make(chan struct{}), make(chan struct{})
	defer n.answer(t, "agent_a", func(bus.Dispatch, string) *beeos.Message { close(started); <-finish; return says("ok") })()
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.IdempotencyKey = "k"
	first := make(chan error, 1)
	go func() { _, err := Last(n.Do(context.Background(), r)); first <- err }()
	<-started
	if _, err := Last(n.Do(t.Context(), r)); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("repeat in flight: %v; want conflict", err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestLiveEventsComeBeforeTheReply(t *testing.T) {
	n := lone(t, nil)
	defer n.answer(t, "agent_a", func(d bus.Dispatch, _ string) *beeos.Message {
		for i, word := range []string{"a", "b", "c"} {
			n.bus.Publish(beeos.Event{Kind: beeos.EventDelta, Channel: d.Channel, Turn: d.MessageID, Attempt: d.Attempt, Seq: int64(i), Text: word})
		}
		n.bus.Publish(beeos.Event{Kind: beeos.EventDelta, Channel: d.Channel, Turn: d.MessageID, Attempt: d.Attempt - 1, Text: "stale"})
		return says("abc")
	})()
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Live = true
	var got string
	for ev, err := range n.Do(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Message != nil {
			got += "=" + ev.Message.Body
		} else {
			got += ev.Text
		}
	}
	if got != "abc=abc" {
		t.Errorf("events %q", got)
	}
}

func TestTimeoutIsTheCallersAlone(t *testing.T) {
	n := lone(t, nil)
	finish := make(chan struct{})
	turn := make(chan string, 1)
	defer n.answer(t, "agent_a", func(d bus.Dispatch, _ string) *beeos.Message { turn <- d.MessageID; <-finish; return says("late") })()
	r := aCall(anAgent(beeos.DeliverPush), "x")
	r.Timeout = 50 * time.Millisecond
	if _, err := Last(n.Do(t.Context(), r)); beeos.CodeOf(err) != beeos.ServiceTimeout {
		t.Fatalf("err = %v; want service_timeout", err)
	}
	close(finish)
	m, err := n.Wait(t.Context(), <-turn, 10*time.Second)
	if err != nil || m.Body != "late" {
		t.Errorf("the late reply is lost: %+v, %v", m, err)
	}
}

func TestRateLimit(t *testing.T) {
	now := time.Now()
	n := lone(t, func(o *Options) { o.RateLimit = 60; o.Now = func() time.Time { return now } })
	defer n.answer(t, "agent_a", func(bus.Dispatch, string) *beeos.Message { return says("ok") })()
	a := anAgent(beeos.DeliverPush)
	for range 60 {
		if _, err := Last(n.Do(t.Context(), aCall(a, "x"))); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Last(n.Do(t.Context(), aCall(a, "x")))
	var e *beeos.Error
	if !errors.As(err, &e) || e.Code != beeos.RateLimited || e.RetryAfter <= 0 || e.RetryAfter > time.Second {
		t.Fatalf("61st call: %v; want rate_limited with a retry of up to a second", err)
	}
	other := aCall(a, "x")
	other.Caller.CredentialID = "k2"
	if _, err := Last(n.Do(t.Context(), other)); err != nil {
		t.Errorf("another credential: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := Last(n.Do(t.Context(), aCall(a, "x"))); err != nil {
		t.Errorf("after a second: %v", err)
	}
}

func TestWaitForUnknownRequestAnswersAtOnce(t *testing.T) {
	n := lone(t, nil)
	if _, err := n.Wait(t.Context(), "nothing", time.Hour); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("Wait = %v; want not_found", err)
	}
}

func TestSendTwiceUnderOneKeyIsOneRequest(t *testing.T) {
	n := lone(t, nil)
	r := aCall(anAgent(beeos.DeliverQueue), "x") // nobody serves it: both are in flight
	r.IdempotencyKey = "k"
	first, err := n.Send(t.Context(), *r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := n.Send(t.Context(), *r)
	if err != nil || again.ID != first.ID || again.Offset != first.Offset || again.Body != "x" {
		t.Errorf("second Send = %+v, %v; want the first message", again, err)
	}
}

// TestCostlyCheckComesLast: what takes work is not done for whom the quota or an
// absent agent turns away.
func TestCostlyCheckComesLast(t *testing.T) {
	n := lone(t, func(o *Options) { o.RateLimit = 3 })
	a := anAgent(beeos.DeliverPush)
	checked := 0
	callIn := func(ctx context.Context, key string) error {
		r := aCall(a, "x")
		r.IdempotencyKey = key
		r.Check = func() error { checked++; return nil }
		_, err := Last(n.Do(ctx, r))
		return err
	}
	call := func(key string) error { return callIn(t.Context(), key) }
	if err := call(""); beeos.CodeOf(err) != beeos.AgentOffline || checked != 0 {
		t.Errorf("offline: %v, checked %d times", err, checked)
	}
	defer n.answer(t, a.ID, func(d bus.Dispatch, _ string) *beeos.Message {
		return &beeos.Message{Channel: d.Channel, InReplyTo: d.MessageID, Type: beeos.AgentReply, Body: "done"}
	})()
	if err := call("k"); err != nil || checked != 1 {
		t.Errorf("%v, checked %d times", err, checked)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := callIn(left, "left"); err == nil || checked != 1 {
		t.Errorf("nobody waits: %v, checked %d times", err, checked)
	}
	if err := call("other"); beeos.CodeOf(err) != beeos.RateLimited || checked != 1 {
		t.Errorf("over the quota: %v, checked %d times", err, checked)
	}
}
