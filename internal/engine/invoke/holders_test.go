package invoke

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
)

// TestWorkOfADeadNodeIsPassedOn once the bus has lost the node, it gives no sign of
// life, and its session has ended: not before, since one that is silent still works.
func TestWorkOfADeadNodeIsPassedOn(t *testing.T) {
	for name, dsn := range map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string { return ownFile(t) }, "postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			var session, unsure atomic.Bool
			session.Store(true)
			n := build(t, dsn(t), bus.Options{Cluster: "127.0.0.1:0", Secret: "s"}, func(o *Options) {
				o.Session = func(context.Context, string) (bool, error) {
					if unsure.Load() {
						return false, database.ErrUnsure
					}
					return session.Load(), nil
				}
			})
			quotas := make(chan error, 1)
			go func() { quotas <- n.quotas.Run(t.Context()) }() // on PostgreSQL calls are counted together
			t.Cleanup(func() { <-quotas })
			other, err := bus.Open(t.Context(), bus.Options{NodeID: "the-other", Cluster: "127.0.0.1:0", Secret: "s", Routes: []string{n.bus.RouteURL()}})
			if err != nil {
				t.Fatal(err)
			}
			alive := true
			die := func() {
				if alive {
					other.Close()
				}
				alive = false
			}
			t.Cleanup(die)
			beat := func(ago time.Duration) {
				t.Helper()
				if err := n.db.Cluster.PutNode(t.Context(), cluster.Node{ID: "the-other", SeenAt: n.db.Now().Add(-ago)}); err != nil {
					t.Fatal(err)
				}
			}
			beat(0)
			if _, err := other.Serve("agent_a", func(bus.Dispatch) bool { return true }); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(10 * time.Second); !n.bus.Present(t.Context(), "agent_a"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the nodes do not mesh")
				}
			}
			send := func(key string) beeos.Message {
				t.Helper()
				r := aCall(anAgent(beeos.DeliverPush), "x")
				if r.IdempotencyKey = key; key != "" {
					r.Agent.Definition.Redelivery = beeos.RedeliverDefault
				}
				m, err := n.Send(t.Context(), *r)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			m, keyed, over := send(""), send("a key"), send("")
			if _, err := n.ledger.Finish(t.Context(), beeos.Message{Channel: over.Channel, InReplyTo: over.ID, Type: beeos.AgentReply, Body: "done"}); err != nil {
				t.Fatal(err)
			}
			if held := n.holders.list(); len(held) != 1 || n.holders.nodes["the-other"] != 2 {
				t.Fatalf("held are %v, %v", held, n.holders.nodes)
			}
			look := func(why string, leased bool) time.Time {
				t.Helper()
				if err := n.inheritFromDead(t.Context()); err != nil {
					t.Fatal(err)
				}
				d, err := n.ledger.OpenDelivery(t.Context(), m.ID)
				if err != nil || d.Leased != leased {
					t.Fatalf("%s: leased is %t, %v", why, d.Leased, err)
				}
				return d.LeaseUntil
			}
			until := look("all is well", true)
			beat(time.Minute)
			look("it is on the bus", true)
			beat(0)
			die()
			look("the database has just heard of it", true)
			beat(time.Minute)
			look("its session lasts", true)
			session.Store(false)
			unsure.Store(true)
			look("nobody knows of its session", true)
			unsure.Store(false)
			if now := look("it is dead", false); !now.Equal(until) {
				t.Errorf("the agent may stay away until %s, was %s", now, until)
			}
			if held := n.holders.list(); len(held) != 0 || len(n.holders.turns) != 0 {
				t.Errorf("held are %v, %v", held, n.holders.turns)
			}
			claimed, err := n.ledger.ClaimDeliveries(t.Context(), "agent_a", n.opt.Now().Add(time.Minute), 10)
			if err != nil || len(claimed) != 1 || claimed[0].Turn != m.ID || claimed[0].Attempt != 2 {
				t.Errorf("claimed %+v, %v", claimed, err)
			}
			if d, err := n.ledger.OpenDelivery(t.Context(), keyed.ID); err != nil || d.Leased || !d.Final() {
				t.Errorf("the keyed one is handed out again: %+v, %v", d, err)
			}
		})
	}
}

// TestOnlyWhatIsHeldIsRemembered: not what ended before it was known who had it, what
// nobody took, or an attempt that another one followed.
func TestOnlyWhatIsHeldIsRemembered(t *testing.T) {
	h := newHolders()
	delivery := func(turn string, attempt int) *ledger.Delivery {
		return &ledger.Delivery{Turn: turn, Attempt: attempt, AgentID: "a"}
	}
	h.expect(delivery("fast", 1))
	h.noteEnd(bus.Notice{Turn: "fast", Terminal: true})
	h.taken("fast", 1, "x")
	h.expect(delivery("nobody's", 1))
	h.settle(delivery("nobody's", 1))
	h.expect(delivery("repeated", 1))
	h.taken("repeated", 1, "x")
	h.expect(delivery("repeated", 2))
	h.taken("repeated", 1, "x")
	h.taken("repeated", 2, "y")
	h.settle(delivery("repeated", 1))
	if got := fmt.Sprint(h.nodes); got != "map[y:1]" || len(h.turns) != 1 {
		t.Errorf("%s, %v", got, h.turns)
	}
	h.noteEnd(bus.Notice{Turn: "repeated"}) // a message on the way
	if leases, agents := h.inherit("y"); len(leases) != 1 || leases[0].Attempt != 2 || !agents["a"] || len(h.turns) != 0 || len(h.nodes) != 0 {
		t.Errorf("%v, %v; %v, %v", leases, agents, h.turns, h.nodes)
	}
}
