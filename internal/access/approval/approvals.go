// Package approval lets a person decide about a tool call before it is made.
// An agent asks about a call (tool_call.go) and waits with it (pending.go);
// await.go takes the call from the rules (rule.go) over the decision of the owner or
// of the people whom a rule names (decide.go, reviewers.go) to the one use of the
// approval, unless a grant has answered it (grants.go). The caller sees what is being
// waited for (prompt.go) and decides there if the agent is its own (caller.go).
// link.go makes signed links for deciding without signing in, show.go what
// people get to see, and approvals.go wakes those who wait and ends what nobody
// decided. An owner is asked about budgets that are used up, too (budget.go).
//
// An approval is a row in the store, so it survives the death of every process.
// It is bound to its caller, agent, turn, skill, tool, arguments and rule: an
// agent that is restarted and asks again finds the same row, and any other
// question is another approval.
package approval

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/people"
)

// Timeout is how long a person has to decide, unless a rule says otherwise.
const Timeout = 5 * time.Minute

const (
	sweepEvery  = time.Second // the net under lost notices
	remindEvery = 10 * time.Second
	forgetEvery = time.Hour
	batchSize   = 500
)

// Options are the parts that approvals stand on.
type Options struct {
	Table   *approvals.Table
	Agents  *agents.Table
	Tools   *builtins.Table // of built-in agents
	People  *people.Table
	Cluster *cluster.Table
	Budgets *budgets.Table
	Ledger  *ledger.Ledger
	Bus     *bus.Bus
	Log     *slog.Logger
	Now     func() time.Time // nil = time.Now
	Web     string           // where the console is, for links
	Keep    time.Duration    // how long decisions are kept; 0 = for ever
}

// Approvals asks people, knows who waits for their decisions, and takes those.
type Approvals struct {
	Options
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by approval; each has room for one
}

// New returns the approvals of this node; Run must be running for those who
// wait.
func New(o Options) *Approvals {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Approvals{Options: o, waiting: map[string][]chan struct{}{}}
	if o.Bus != nil {
		o.Bus.OnControl(func(c bus.Control) {
			if c.Kind == bus.ApprovalChanged {
				s.wakeWaiters(c.ID)
			}
		})
	}
	return s
}

// Run expires what nobody decided, withdraws what nobody waits for, and wakes
// whoever missed a notice, until ctx ends.
func (s *Approvals) Run(ctx context.Context) error {
	look, forget := time.NewTicker(sweepEvery), time.NewTicker(forgetEvery)
	defer look.Stop()
	defer forget.Stop()
	for {
		var err error
		select {
		case <-look.C:
			if err = database.Within(ctx, s.endLapsed); err == nil {
				err = database.Within(ctx, s.wakeSettled)
			}
		case <-forget.C:
			if s.Keep > 0 {
				err = s.Table.Forget(ctx, s.Now().Add(-s.Keep))
			}
		case <-ctx.Done():
			return nil
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Error("approvals", "err", err)
		}
	}
}

// endLapsed ends the approvals that nobody decided in time, or waits for.
func (s *Approvals) endLapsed(ctx context.Context) error {
	late, left, err := s.Table.ListLapsed(ctx, s.Now())
	if err != nil {
		return err
	}
	for _, id := range late {
		if _, err := s.expire(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range left {
		if _, err := s.endUndecided(ctx, approvals.Verdict{ID: id, State: approvals.Withdrawn, By: "system", Reason: "the call has ended"}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Approvals) expire(ctx context.Context, id string) (approvals.Approval, error) {
	return s.endUndecided(ctx, approvals.Verdict{ID: id, State: approvals.Expired, By: "system", Reason: "nobody decided in time"})
}

// endUndecided ends an approval without a person; if somebody was faster, their
// decision counts.
func (s *Approvals) endUndecided(ctx context.Context, v approvals.Verdict) (approvals.Approval, error) {
	v.At = s.Now()
	a, won, err := s.Table.Decide(ctx, v)
	if won {
		s.announceChange(a.ID)
	}
	return a, err
}

// announceChange lets every node know that an approval has changed.
func (s *Approvals) announceChange(id string) {
	if s.Bus == nil {
		s.wakeWaiters(id)
		return
	}
	s.Bus.Control(bus.Control{Kind: bus.ApprovalChanged, ID: id})
}

// wakeWaiters lets those who wait for an approval on this node look at it.
func (s *Approvals) wakeWaiters(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting[id] {
		select {
		case w <- struct{}{}:
		default: // it is about to look anyway
		}
	}
}

// wakeSettled looks for decisions whose notice was lost.
func (s *Approvals) wakeSettled(ctx context.Context) error {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.waiting))
	s.mu.Unlock()
	for part := range slices.Chunk(ids, batchSize) {
		settled, err := s.Table.ListSettled(ctx, part)
		if err != nil {
			return err
		}
		for _, id := range settled {
			s.wakeWaiters(id)
		}
	}
	return nil
}

// waitUntilSettled returns an approval once it is decided, expired or
// withdrawn. It calls remind now and then while it waits.
func (s *Approvals) waitUntilSettled(ctx context.Context, id string, remind func()) (approvals.Approval, error) {
	tick := time.NewTicker(remindEvery)
	defer tick.Stop()
	wake := make(chan struct{}, 1)
	s.mu.Lock()
	s.waiting[id] = append(s.waiting[id], wake)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waiting[id] = slices.DeleteFunc(s.waiting[id], func(w chan struct{}) bool { return w == wake })
		if len(s.waiting[id]) == 0 {
			delete(s.waiting, id)
		}
	}()
	for {
		a, err := s.Table.Get(ctx, id)
		if err == nil && a.Open() && !a.ExpiresAt.After(s.Now()) {
			a, err = s.expire(ctx, id)
		}
		if err != nil || !a.Open() {
			return a, err
		}
		select {
		case <-wake:
		case <-tick.C:
			remind()
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}
