package invoke

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/store"
)

var everyStatus = []beeos.TaskStatus{
	beeos.TaskQueued, beeos.TaskRunning, beeos.TaskInputRequired, beeos.TaskAuthRequired,
	beeos.TaskCompleted, beeos.TaskFailed, beeos.TaskCanceled, beeos.TaskTimeout, beeos.TaskRejected,
}

var everyEvent = []task.Event{
	task.OnDelivered, task.OnDelta, task.OnInputRequired, task.OnAuthRequired, task.OnContinue, task.OnAuthGrant, task.OnReply, task.OnError, task.OnRefuse, task.OnBusy,
	task.OnCancel, task.OnCancelled, task.OnCancelForced, task.OnDeadline, task.OnAgentLost, task.OnGivenUp,
}

// life is a ledger with calls on it, a clock that the test moves, and an agent
// that does nothing by itself. Nothing runs in the background.
type life struct {
	t     *testing.T
	calls *Calls
	led   *ledger.Ledger
	bus   *bus.Bus
	agent *beeos.Agent

	mu   sync.Mutex
	now  time.Time
	gone func() // the agent leaves
}

func newLife(t *testing.T) *life {
	t.Helper()
	l := &life{t: t, agent: anAgent(beeos.DeliverPush), now: time.Now()}
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "b.db")+"?durability=os")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if l.bus, err = bus.Open(t.Context(), bus.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.bus.Close)
	if l.led, err = ledger.Open(t.Context(), db.DB, ledger.Options{Now: l.clock, Committed: Committed(l.bus)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.led.Close)
	l.calls = New(Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l.led, Bus: l.bus, Now: l.clock, RateLimit: 1e6})
	l.arrive()
	return l
}

func (l *life) clock() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

func (l *life) pass(d time.Duration) {
	l.mu.Lock()
	l.now = l.now.Add(d)
	l.mu.Unlock()
}

func (l *life) arrive() {
	l.t.Helper()
	stop, err := l.bus.Serve(l.agent.ID, func(bus.Dispatch) bool { return true })
	if err != nil {
		l.t.Fatal(err)
	}
	l.gone = stop
}

func (l *life) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

const lifeLimit = 10 * time.Minute

func (l *life) request() beeos.Message {
	l.t.Helper()
	r := aCall(l.agent, "work")
	r.Deadline = l.clock().Add(lifeLimit)
	m, err := l.calls.Send(l.t.Context(), *r)
	l.must(err)
	return m
}

func (l *life) status(turn string) beeos.TaskStatus {
	l.t.Helper()
	task, err := l.calls.Task(l.t.Context(), "user:u", turn)
	l.must(err)
	return task.Status
}

// lease is what the agent's instance holds, if it holds anything.
func (l *life) lease(turn string) []ledger.Lease {
	d, err := l.led.OpenDelivery(context.Background(), turn)
	if err != nil || !d.Leased {
		return nil
	}
	return []ledger.Lease{{Turn: turn, Attempt: d.Attempt}}
}

// happen makes an event happen in the way it does in real life. That it is
// refused shows in the state alone.
func (l *life) happen(m beeos.Message, e task.Event) {
	ctx := context.Background()
	about := func(t beeos.MessageType) beeos.Message {
		return beeos.Message{Channel: m.Channel, InReplyTo: m.ID, Type: t, State: beeos.StateCompleted, Publisher: "agent:agent_a", Body: string(e)}
	}
	end := func(t beeos.MessageType, state string) {
		r := about(t)
		r.State = state
		_, err := l.led.Finish(ctx, r)
		l.tolerate(err, beeos.MessageTerminal)
	}
	switch e {
	case task.OnDelivered:
		_, err := l.led.ClaimDeliveries(ctx, l.agent.ID, l.clock().Add(lifeLimit), 1000)
		l.tolerate(err)
	case task.OnDelta:
		l.bus.Publish(beeos.Event{Kind: beeos.EventDelta, Channel: m.Channel, Turn: m.ID, Attempt: 1, Seq: 1, Text: "x"})
	case task.OnInputRequired:
		_, err := l.led.Append(ctx, about(beeos.AgentInputRequired))
		l.tolerate(err)
	case task.OnAuthRequired:
		_, err := l.led.Append(ctx, about(beeos.AgentAuthRequired))
		l.tolerate(err)
	case task.OnContinue:
		_, err := l.calls.Continue(ctx, about(beeos.Continue))
		l.tolerate(err, beeos.Conflict, beeos.NotFound)
	case task.OnAuthGrant:
		_, err := l.calls.Continue(ctx, about(beeos.AuthGrant))
		l.tolerate(err, beeos.Conflict, beeos.NotFound)
	case task.OnReply:
		end(beeos.AgentReply, beeos.StateCompleted)
	case task.OnError:
		end(beeos.AgentReplyError, beeos.StateFailed)
	case task.OnRefuse:
		end(beeos.AgentRefuse, beeos.StateRefused)
	case task.OnBusy:
		end(beeos.AgentBusy, beeos.StateRefused)
	case task.OnCancel:
		l.tolerate(l.calls.Cancel(ctx, m.Channel, m.ID, "enough"))
	case task.OnCancelled:
		end(beeos.AgentReplyError, beeos.StateCancelled)
	case task.OnCancelForced:
		l.tolerate(l.calls.Cancel(ctx, m.Channel, m.ID, "enough"))
		l.pass(ledger.CancelGrace)
		l.tolerate(l.calls.Sweep(ctx))
	case task.OnDeadline:
		l.pass(lifeLimit + time.Second)
		l.tolerate(l.calls.Sweep(ctx))
	case task.OnAgentLost:
		l.tolerate(l.led.ReleaseLeases(ctx, l.lease(m.ID), ledger.Attempt{Why: beeos.InstanceGone}))
	case task.OnGivenUp:
		l.tolerate(l.led.ReleaseLeases(ctx, l.lease(m.ID), ledger.Attempt{Why: beeos.InstanceGone}))
		l.gone()
		l.pass(defaultLostAfter + time.Second)
		l.tolerate(l.calls.Sweep(ctx))
		l.arrive()
	}
}

func (l *life) tolerate(err error, codes ...beeos.Code) {
	for _, c := range codes {
		if err != nil && beeos.CodeOf(err) == c {
			return
		}
	}
	if err != nil {
		l.t.Error(err)
	}
}

// reach brings a new request into a state.
func (l *life) reach(s beeos.TaskStatus) beeos.Message {
	l.t.Helper()
	m := l.request()
	way := map[beeos.TaskStatus]task.Event{
		beeos.TaskQueued: task.OnAgentLost, beeos.TaskInputRequired: task.OnInputRequired, beeos.TaskAuthRequired: task.OnAuthRequired,
		beeos.TaskCompleted: task.OnReply, beeos.TaskFailed: task.OnError, beeos.TaskCanceled: task.OnCancelled, beeos.TaskTimeout: task.OnDeadline, beeos.TaskRejected: task.OnRefuse,
	}
	if e, ok := way[s]; ok {
		l.happen(m, e)
	}
	if now := l.status(m.ID); now != s {
		l.t.Fatalf("the way to %s leads to %s", s, now)
	}
	return m
}

// TestEveryStateAndEvent holds the table against what the ledger does.
func TestEveryStateAndEvent(t *testing.T) {
	for _, s := range everyStatus {
		if len(task.Transitions[s]) != len(everyEvent) && !s.Terminal() {
			t.Errorf("the table has %d events for %s, there are %d", len(task.Transitions[s]), s, len(everyEvent))
		}
		t.Run(string(s), func(t *testing.T) {
			l := newLife(t)
			for _, e := range everyEvent {
				m := l.reach(s)
				l.happen(m, e)
				want, known := task.After(s, e)
				if got := l.status(m.ID); got != want {
					t.Errorf("%s in %s: the task is %s, the table says %s (known: %v)", e, s, got, want, known)
				}
			}
		})
	}
	if len(task.Transitions) != len(everyStatus) {
		t.Errorf("the table has %d states, there are %d", len(task.Transitions), len(everyStatus))
	}
}

// TestRandomLives lets anything happen to many requests, at first one after
// the other, then at once: no step is outside the table, what has ended stays
// as it is, and when all deadlines have passed nothing is open.
func TestRandomLives(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 1))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	single := []task.Event{
		task.OnDelta, task.OnInputRequired, task.OnAuthRequired, task.OnContinue, task.OnAuthGrant, task.OnInputRequired, task.OnAuthRequired, task.OnContinue, task.OnAuthGrant,
		task.OnAgentLost, task.OnDelivered, task.OnReply, task.OnError, task.OnRefuse, task.OnBusy, task.OnCancel, task.OnCancelled,
	}
	l := newLife(t)
	var all []beeos.Message
	for range 60 {
		all = append(all, l.request())
	}
	unwanted := map[string]bool{}
	for range 240 {
		m := all[rng.IntN(len(all))]
		e := single[rng.IntN(len(single))]
		before := l.status(m.ID)
		l.happen(m, e)
		unwanted[m.ID] = unwanted[m.ID] || e == task.OnCancel
		want, _ := task.After(before, e)
		if unwanted[m.ID] {
			want = task.AfterCancel(before, e)
		}
		if l.status(m.ID) != want {
			t.Fatalf("%s in %s gave %s, want %s", e, before, l.status(m.ID), want)
		}
	}
	ended := map[string]beeos.TaskStatus{}
	var wg sync.WaitGroup
	for range 40 { // now everything at once
		m, events := l.request(), rng.Perm(len(single))
		all = append(all, m)
		for _, i := range events[:4] {
			wg.Go(func() { l.happen(m, single[i]) })
		}
	}
	wg.Wait()
	for _, m := range all {
		if s := l.status(m.ID); s.Terminal() {
			ended[m.ID] = s
		}
	}
	l.happen(all[0], task.OnCancelForced)
	l.happen(all[0], task.OnDeadline)
	for _, m := range all {
		s := l.status(m.ID)
		if !s.Terminal() {
			t.Errorf("task %s is %s for ever", m.ID, s)
		}
		if was, ok := ended[m.ID]; ok && was != s {
			t.Errorf("task %s was %s and is %s", m.ID, was, s)
		}
	}
	if len(ended) == 0 || len(ended) == len(all) {
		t.Errorf("%d of %d had ended before their deadlines; the test proves little", len(ended), len(all))
	}
	open, err := l.calls.Tasks(t.Context(), task.Filter{Caller: aCall(l.agent, "").Caller, Open: true, AtMost: 1000})
	if err != nil || len(open) != 0 {
		t.Errorf("open tasks: %v, %v", fmt.Sprint(open), err)
	}
}

// TestStopNeedsNoSweep: who cancels and waits finds the request ended, however
// late the sweep is.
func TestStopNeedsNoSweep(t *testing.T) {
	t.Parallel() // it gives the agent its time to end it
	l := newLife(t)
	m := l.request()
	l.must(l.calls.Stop(t.Context(), m.Channel, m.ID, "enough"))
	if got := l.status(m.ID); got != beeos.TaskCanceled {
		t.Errorf("it is %s", got)
	}
}
