package budget_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/enginetest"
)

var (
	agent  = &beeos.Agent{ID: "agent", OwnerID: "ann"}
	caller = &beeos.Caller{Kind: beeos.ByUserKey, UserID: "ann", CredentialID: "key"}
)

// rig is some nodes on one database, with a clock of their own.
type rig struct {
	t     *testing.T
	db    *store.Store
	nodes []node
	ahead atomic.Int64
	ask   func() (refused bool, err error)

	warnings atomic.Int64
}

// Enabled, Handle, WithAttrs and WithGroup make a rig the log of its nodes: it counts
// their warnings.
func (r *rig) Enabled(context.Context, slog.Level) bool { return true }

func (r *rig) Handle(_ context.Context, line slog.Record) error {
	if line.Level == slog.LevelWarn && line.Message == "a budget is nearly used up" {
		r.warnings.Add(1)
	}
	return nil
}

func (r *rig) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r *rig) WithGroup(string) slog.Handler      { return r }

type node struct {
	budgets *budget.Budgets
	ledger  *ledger.Ledger
}

func newRig(t *testing.T, db *store.Store, nodes int) *rig {
	r := &rig{t: t, db: db, ask: func() (bool, error) { t.Error("asked"); return false, nil }}
	for range nodes {
		_, l := enginetest.OpenOn(t, db)
		r.addNode(l)
	}
	return r
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// wait lets time pass.
func (r *rig) wait(d time.Duration) { r.ahead.Add(int64(d)) }

func (r *rig) addNode(l *ledger.Ledger) *node {
	r.nodes = append(r.nodes, node{budget.New(budget.Options{
		Table: r.db.Budgets, Now: r.now, Log: slog.New(r),
		Ask: func(context.Context, *budgets.Budget, budget.Call, time.Time, time.Time) (bool, error) {
			return r.ask()
		},
	}), l})
	return &r.nodes[len(r.nodes)-1]
}

func (r *rig) set(unit budgets.Unit, most int64) budgets.Budget {
	r.t.Helper()
	b, err := r.db.Budgets.Set(r.t.Context(), budgets.Budget{
		ID: beeos.NewID(), OwnerID: "ann", Subject: budgets.Subject{Kind: budgets.OfAgent, ID: agent.ID}, Unit: unit, Period: budgets.Month, Most: most, WarnAt: 80,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// call makes a call as the call path does; its answer takes so many tokens.
func (n *node) call(ctx context.Context, tokens int64) error {
	if _, err := n.budgets.Take(ctx, caller, agent); err != nil {
		return err
	}
	channel := beeos.NewChannelID()
	o := &ledger.Opening{
		Channel: beeos.Channel{ID: channel, AgentID: agent.ID, Owner: caller.Principal(), Kind: beeos.KindInvoke, SingleShot: true}, Fresh: true,
		Message:    beeos.Message{ID: beeos.NewID(), Channel: channel, Type: beeos.ChatMessage, Publisher: caller.Principal(), Body: "hello"},
		Credential: caller.Instrument(), Surface: "rest",
		Delivery: &ledger.Delivery{AgentID: agent.ID, Mode: beeos.DeliverPush, Redelivery: beeos.RedeliverAlways, LeaseUntil: time.Now().Add(time.Minute), Deadline: time.Now().Add(time.Hour)},
	}
	if _, _, err := n.ledger.BeginRequest(ctx, o); err != nil {
		return err
	}
	usage := []calls.Usage{{Model: "m", UsageSum: calls.UsageSum{Answers: 1, Input: tokens, Micros: tokens * 10}}}
	_, err := n.ledger.FinishAttempt(ctx, beeos.Message{
		Channel: channel, InReplyTo: o.Message.ID, Type: beeos.AgentReply, State: beeos.StateCompleted, StopReason: beeos.StopEndTurn, Publisher: "agent:" + agent.ID, Body: "hi",
	}, &ledger.Attempt{Number: 1, Usage: usage})
	return err
}

// spendAll calls over all nodes at once until each caller is told that the budget is
// used up, and returns how many calls there were.
func (r *rig) spendAll(tokens func() int64) int64 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		n := &r.nodes[i%len(r.nodes)]
		all.Go(func() {
			for {
				err := n.call(ctx, tokens())
				var refusal *beeos.Error
				switch {
				case err == nil:
					made.Add(1)
					continue
				case !errors.As(err, &refusal) || refusal.Code != beeos.BudgetExceeded:
					r.t.Error(err)
					return
				case refusal.RetryAfter > time.Minute: // until the budget begins anew
					return
				}
				select {
				case <-ctx.Done():
					r.t.Error("the budget is never used up")
					return
				case <-time.After(refusal.RetryAfter): // as callers are told to
				}
			}
		})
	}
	all.Wait()
	return made.Load()
}

// TestCallsOverThreeNodes: not one more than the budget allows, and in the end not
// one less.
func TestCallsOverThreeNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db, 3)
		const most = 1000
		r.set(budgets.Calls, most)
		made := r.spendAll(func() int64 { return 1 })
		if made > most || made < most*98/100 {
			t.Errorf("%d calls of %d", made, most)
		}
		r.wait(11 * time.Second) // shares that nobody has used are forgotten by now
		if made += r.spendAll(func() int64 { return 1 }); made != most {
			t.Errorf("%d calls of %d", made, most)
		}
		if err := r.addNode(r.nodes[0].ledger).call(t.Context(), 1); beeos.CodeOf(err) != beeos.BudgetExceeded {
			t.Errorf("a node that has just begun: %v", err)
		}
	})
}

// TestWarnedOnceAPeriod: when its share is used up one of the nodes says so, once; the
// next period has a warning of its own, and who wants none has none.
func TestWarnedOnceAPeriod(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db, 3)
		const most = 50
		b := r.set(budgets.Calls, most)
		began, _ := b.Period.Span(r.now())
		r.ahead.Store(-int64(r.now().Sub(began) + time.Hour)) // in the period before
		call := func(n int) {
			t.Helper()
			for i := range n {
				if err := r.nodes[i%3].call(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
		}
		warned := func(want int64) {
			t.Helper()
			if got := r.warnings.Load(); got != want {
				t.Errorf("warned %d times, want %d", got, want)
			}
		}
		call(most*8/10 - 3)
		warned(0)
		call(6)
		warned(1)
		call(2)
		warned(1)
		r.ahead.Store(0) // what was made is in this one, too: calls are counted by when they are stored
		call(3)
		warned(2)

		b.WarnAt = 0
		if _, err := db.Budgets.Set(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r.addNode(r.nodes[0].ledger)
		if err := r.nodes[3].call(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		warned(2)
	})
}

// TestUsageOverThreeNodes: what answers take is known when they are there, and yet a
// budget is exceeded by 2 % at most.
func TestUsageOverThreeNodes(t *testing.T) {
	for unit, most := range map[budgets.Unit]int64{budgets.Tokens: 200_000, budgets.Money: 2_000_000} {
		t.Run(string(unit), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, db *store.Store) {
				r := newRig(t, db, 3)
				b := r.set(unit, most)
				r.spendAll(func() int64 { return 50 + rand.Int64N(100) })
				spent := r.spent(&b)
				if spent > most*102/100 || spent < most {
					t.Errorf("%d of %d", spent, most)
				}
				t.Logf("%d of %d", spent, most)
			})
		})
	}
}

func (r *rig) spent(b *budgets.Budget) int64 {
	r.t.Helper()
	c, ok, err := r.db.Budgets.Count(r.t.Context(), b, r.now(), time.Time{})
	if err != nil || !ok {
		r.t.Fatal(ok, err)
	}
	return c.Spent
}

// TestCountOutlivesRetention: calls that are deleted count until the period ends.
func TestCountOutlivesRetention(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db, 1)
		b := r.set(budgets.Calls, 10)
		for range 7 {
			if err := r.nodes[0].call(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		r.wait(2 * time.Minute)
		if spent := r.spent(&b); spent != 7 {
			t.Fatal(spent)
		}
		if err := r.nodes[0].ledger.Forget(t.Context(), -time.Hour); err != nil {
			t.Fatal(err)
		}
		if spent := r.spent(&b); spent != 7 {
			t.Errorf("%d calls after they were deleted", spent)
		}
		_, ends := b.Period.Span(r.now())
		r.ahead.Store(int64(time.Until(ends) + time.Second))
		if spent := r.spent(&b); spent != 0 {
			t.Errorf("%d calls of a new period", spent)
		}
		if err := r.nodes[0].call(t.Context(), 1); err != nil {
			t.Error(err)
		}
	})
}

// TestDrawnIsForgotten: a power cut may lose what was drawn, never what was taken.
func TestDrawnIsForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db, 1)
		r.set(budgets.Calls, 5)
		r.spendAll(func() int64 { return 1 })
		if _, err := db.ExecContext(t.Context(), "UPDATE budgets SET drawn = 0"); err != nil {
			t.Fatal(err)
		}
		if err := r.addNode(r.nodes[0].ledger).call(t.Context(), 1); beeos.CodeOf(err) != beeos.BudgetExceeded {
			t.Errorf("called again: %v", err)
		}
	})
}

// TestOwnerIsAsked: once at a time; calls go on when the budget is lifted, and a no
// stands until the period ends.
func TestOwnerIsAsked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		r := newRig(t, db, 1)
		n := &r.nodes[0]
		asked, no, away := 0, false, errors.New("away")
		r.ask = func() (bool, error) { asked++; return no, away }
		b := r.set(budgets.Calls, 1)
		b.Ask = true
		if _, err := db.Budgets.Set(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		refused := func(within time.Duration) {
			t.Helper()
			var refusal *beeos.Error
			if err := n.call(t.Context(), 1); !errors.As(err, &refusal) || refusal.Code != beeos.BudgetExceeded || refusal.RetryAfter > within {
				t.Errorf("%v", err)
			}
		}
		if err := n.call(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for range 2 { // who cannot be asked has not said yes
			if err := n.call(t.Context(), 1); !errors.Is(err, away) {
				t.Errorf("nobody can be asked: %v", err)
			}
		}
		asked, away = 0, nil
		refused(time.Minute)
		refused(time.Minute)
		if asked != 1 {
			t.Errorf("asked %d times at once", asked)
		}
		began, ends := b.Period.Span(r.now())
		if err := db.Budgets.LetGoOn(t.Context(), b.ID, began); err != nil {
			t.Fatal(err)
		}
		r.wait(3 * time.Second)
		for range 3 {
			if err := n.call(t.Context(), 1); err != nil {
				t.Errorf("after a yes: %v", err)
			}
		}
		if _, err := db.Budgets.Set(t.Context(), b); err != nil { // set anew, it holds again
			t.Fatal(err)
		}
		no = true
		n = r.addNode(r.nodes[0].ledger)
		refused(time.Until(ends) + time.Minute)
		r.wait(time.Minute)
		refused(time.Until(ends) + time.Minute)
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// TestWhatACallFallsUnder: its agent, its key or app, and who calls; others do not
// count, and a call that is not made gives back what it took.
func TestWhatACallFallsUnder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		app := &beeos.Caller{Kind: beeos.ByOAuth, UserID: "ann", CredentialID: "grant"}
		own := &beeos.Caller{Kind: beeos.ByAgentKey, UserID: "ann", CredentialID: "bak", AgentID: agent.ID}
		seen := &beeos.Caller{Kind: beeos.BySession, UserID: "ann", CredentialID: "log-in"}
		for _, c := range []struct {
			subject budgets.Subject
			counts  []*beeos.Caller
			passes  []*beeos.Caller
		}{
			{budgets.Subject{Kind: budgets.OfAgent, ID: "agent"}, []*beeos.Caller{caller, app, own, seen}, nil},
			{budgets.Subject{Kind: budgets.OfAgent, ID: "another"}, nil, []*beeos.Caller{caller, app, own, seen}},
			{budgets.Subject{Kind: budgets.OfKey, ID: "key"}, []*beeos.Caller{caller}, []*beeos.Caller{app, own, seen}},
			{budgets.Subject{Kind: budgets.OfKey, ID: "bak"}, []*beeos.Caller{own}, []*beeos.Caller{caller}},
			{budgets.Subject{Kind: budgets.OfApp, ID: "grant"}, []*beeos.Caller{app}, []*beeos.Caller{caller, own, seen}},
			{budgets.Subject{Kind: budgets.OfKey, ID: "grant"}, nil, []*beeos.Caller{app}},
			{budgets.Subject{Kind: budgets.OfUser, ID: "ann"}, []*beeos.Caller{caller, app, seen}, []*beeos.Caller{own}},
			{budgets.Subject{Kind: budgets.OfUser, ID: "bob"}, nil, []*beeos.Caller{caller}},
		} {
			b, err := db.Budgets.Set(t.Context(), budgets.Budget{ID: beeos.NewID(), OwnerID: "ann", Subject: c.subject, Unit: budgets.Calls, Period: budgets.Day, Most: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, by := range c.passes {
				all := budget.New(budget.Options{Table: db.Budgets})
				for range 3 {
					if _, err := all.Take(t.Context(), by, agent); err != nil {
						t.Errorf("%v stops %s: %v", c.subject, by.CredentialID, err)
					}
				}
			}
			for _, by := range c.counts {
				if _, err := db.ExecContext(t.Context(), "UPDATE budgets SET began = 0"); err != nil {
					t.Fatal(err)
				}
				all := budget.New(budget.Options{Table: db.Budgets})
				taken, err := all.Take(t.Context(), by, agent)
				if err != nil {
					t.Fatal(err)
				}
				taken.Return()
				if _, err := all.Take(t.Context(), by, agent); err != nil {
					t.Errorf("what was given back is gone: %v", err)
				}
				if _, err := all.Take(t.Context(), by, agent); beeos.CodeOf(err) != beeos.BudgetExceeded {
					t.Errorf("%v does not stop %s: %v", c.subject, by.CredentialID, err)
				}
			}
			if err := db.Budgets.Delete(t.Context(), b.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}
