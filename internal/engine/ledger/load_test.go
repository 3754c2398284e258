package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// heard is what a ledger tells those who count.
type heard struct {
	mu          sync.Mutex
	ended       []Ended
	lost        map[beeos.AttemptEnd]int
	redelivered map[string]int
}

func (h *heard) options(now func() time.Time) Options {
	h.lost, h.redelivered = map[beeos.AttemptEnd]int{}, map[string]int{}
	locked := func(do func()) { h.mu.Lock(); defer h.mu.Unlock(); do() }
	return Options{
		Now:         now,
		Ended:       func(list []Ended) { locked(func() { h.ended = append(h.ended, list...) }) },
		Lost:        func(why beeos.AttemptEnd, n int) { locked(func() { h.lost[why] += n }) },
		Redelivered: func(why string, n int) { locked(func() { h.redelivered[why] += n }) },
	}
}

// TestAttemptsAreCounted: each lease that ends without a reply, each time that a
// request is handed out again, and each end of one is told once.
func TestAttemptsAreCounted(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.Now()
		var h heard
		l := open(h.options(func() time.Time { return clock }))
		ctx := t.Context()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		claim := func(want int) {
			t.Helper()
			claimed, err := l.ClaimDeliveries(ctx, "agent_a", clock.Add(15*time.Second), 10)
			if err != nil || len(claimed) != 1 || claimed[0].Attempt != want {
				t.Fatalf("claimed %+v, %v; want attempt %d", claimed, err, want)
			}
		}
		o := request("agent_a")
		o.Surface, o.Tool = "mcp", "add"
		begin(t, l, o)
		first := []Lease{{o.Message.ID, 1}}
		must(l.ReleaseLeases(ctx, first, Attempt{Why: beeos.InstanceGone}))
		must(l.ReleaseLeases(ctx, first, Attempt{Why: beeos.InstanceGone})) // nothing is left to release
		claim(2)
		clock = clock.Add(time.Minute)
		if _, err := l.Sweep(ctx); err != nil { // its node is not heard of
			t.Fatal(err)
		}
		claim(3)
		must(l.ReleaseLeases(ctx, []Lease{{o.Message.ID, 3}}, Attempt{Why: beeos.NotHandedOut}))
		d, err := l.OpenDelivery(ctx, o.Message.ID)
		must(err)
		if _, ok, err := l.ResumeDelivery(ctx, &d, clock.Add(15*time.Second)); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if _, ok, err := l.ResumeDelivery(ctx, &d, clock.Add(15*time.Second)); err != nil || ok { // too late
			t.Fatal(ok, err)
		}
		by := &Attempt{Number: 4, Steps: []byte(`[{"name":"s"}]`)}
		_, err = l.FinishAttempt(ctx, reply(o, "3"), by)
		must(err)
		if _, err := l.FinishAttempt(ctx, reply(o, "4"), by); beeos.CodeOf(err) != beeos.MessageTerminal {
			t.Fatal(err)
		}
		l.Close() // what is told last has been told then
		if diff := cmp.Diff(map[beeos.AttemptEnd]int{beeos.InstanceGone: 1, beeos.LeaseExpired: 1, beeos.NotHandedOut: 1}, h.lost); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(map[string]int{"gone": 1, "lease": 1, Resumed: 1}, h.redelivered); diff != "" {
			t.Error(diff)
		}
		if len(h.ended) != 1 {
			t.Fatalf("%+v", h.ended)
		}
		e := &h.ended[0]
		if diff := cmp.Diff(calls.Route{AgentID: "agent_a", Caller: "user:u", Surface: "mcp", Tool: "add"}, e.Route); diff != "" {
			t.Error(diff)
		}
		if e.Turn != o.Message.ID || e.Outcome != calls.OK || e.Took() != time.Minute || string(e.Steps) != `[{"name":"s"}]` || len(e.Attempts()) != 4 {
			t.Errorf("%+v took %s in %d attempts", e, e.Took(), len(e.Attempts()))
		}
	})
}

// TestLoadIsOfTheCluster: what one replica stores another one counts.
func TestLoadIsOfTheCluster(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.Now().Truncate(time.Microsecond)
		opt := Options{Now: func() time.Time { return clock }}
		l := open(opt)
		other := l
		if l.db.Postgres {
			other = open(opt)
		}
		want := func(load Load) {
			t.Helper()
			got, err := other.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < time.Minute/2 })
			if diff := cmp.Diff(load, got, near); diff != "" {
				t.Error(diff)
			}
		}
		want(Load{})
		queued := func() *Opening {
			o := request("agent_a")
			o.Delivery.Mode = beeos.DeliverQueue
			begin(t, l, o)
			clock = clock.Add(time.Minute)
			return o
		}
		queued()
		last := queued()
		begin(t, l, request("agent_b"))
		want(Load{Waiting: 2, InFlight: 1, Oldest: 2 * time.Minute})
		if _, err := l.ClaimDeliveries(t.Context(), "agent_a", clock.Add(time.Minute), 1); err != nil {
			t.Fatal(err)
		}
		oldest := time.Minute
		if l.db.Postgres {
			oldest = 2 * time.Minute // its own clock says since when, and that was not set
		}
		want(Load{Waiting: 1, InFlight: 2, Oldest: oldest})
		if _, err := l.Finish(t.Context(), reply(last, "3")); err != nil {
			t.Fatal(err)
		}
		want(Load{InFlight: 2})
	})
}

// TestBacklogs: what waits for each of some agents is counted.
func TestBacklogs(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.Now().UTC().Truncate(time.Microsecond)
		l := open(Options{Now: func() time.Time { return clock }})
		first, step := clock, time.Minute
		if l.db.Postgres {
			step = 0 // whose own clock says since when something waits
		}
		for _, agent := range []string{"agent_a", "agent_a", "agent_b", "agent_c"} {
			o := request(agent)
			o.Delivery.Mode = beeos.DeliverQueue
			begin(t, l, o)
			clock = clock.Add(step)
		}
		begin(t, l, request("agent_d")) // which is under way
		got, err := l.Backlogs(t.Context(), []string{"agent_d", "agent_c", "agent_a"})
		if err != nil {
			t.Fatal(err)
		}
		near := cmp.Comparer(func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Minute })
		if diff := cmp.Diff([]Waiting{{"agent_a", 2, first}, {"agent_c", 1, first.Add(3 * step)}}, got, near); diff != "" {
			t.Error(diff)
		}
		if got, err := l.Backlogs(t.Context(), nil); err != nil || got != nil {
			t.Errorf("of no agents: %v, %v", got, err)
		}
	})
}
