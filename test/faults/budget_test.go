package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// TestBudgetHoldsOverThreeServers: whatever the load, and whichever of three servers
// it goes to, calls do not exceed their budget and tokens do by 2 % at most; neither
// is given up long before it is used up. What was taken is read off the database, behind the servers' backs.
func TestBudgetHoldsOverThreeServers(t *testing.T) {
	var nodes []*node
	url := pgtest.URL(t)
	for i := range 3 {
		nodes = append(nodes, newNode(t, fmt.Sprint("node ", i+1), "DATABASE_URL="+url, "BEEOS_CLUSTER_ADDR="+ports.Addr(t)))
	}
	key := nodes[0].owner()
	for _, n := range nodes {
		n.launch()
	}
	for _, n := range nodes {
		n.ready()
	}
	const tokensPerCall = 100
	calls := int64(much(3000, 500))
	agents := map[string]string{}
	limits := map[string]int64{"calls": calls, "tokens": calls * tokensPerCall}
	for unit, most := range limits { // all of them before the first call, which reads them: else a node hears of one a moment later
		id := connectHere(t, nodes[0], key, "spends-"+unit, func(_ context.Context, _ agent.Message, r *agent.Reply) error {
			r.Usage("made-up", rand.Int64N(tokensPerCall), tokensPerCall/2, 0)
			return r.Send("spent")
		})
		for _, n := range nodes {
			n.online(key, id, true)
		}
		set := client.BudgetRequest{SubjectType: "agent", SubjectID: id, Unit: unit, Period: "month", Limit: float64(most), WarnAt: 80}
		if _, err := client.New(nodes[0].rest, key).SetBudget(t.Context(), set); err != nil {
			t.Fatal(err)
		}
		agents[unit] = id
	}
	for unit, most := range limits {
		t.Run(unit, func(t *testing.T) {
			id := agents[unit]
			began := time.Now()
			spendOver(t, nodes, key, id)
			took := time.Since(began)

			r := nodes[0].records()
			count := `SELECT count(*) FROM messages m WHERE m.type = 'chat_message' AND m.agent_id = $1`
			if unit == "tokens" {
				count = `SELECT COALESCE(SUM(u.input + u.output), 0) FROM usage u JOIN routes r ON r.id = u.route WHERE r.agent_id = $1`
			}
			spent, err := database.GetValue[int64](t.Context(), r.db, "count", count, id)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d %s in %s, %+.2f %%", spent, most, unit, took.Round(time.Millisecond), 100*float64(spent-most)/float64(most))
			allowed := most
			if unit == "tokens" {
				allowed += most / 50 // what an answer takes is known when it is there
			}
			if spent > allowed || spent < most*9/10 {
				t.Errorf("%d of %d %s were spent", spent, most, unit)
			}
			for _, n := range nodes {
				list, err := client.New(n.rest, key).Budgets(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range list {
					if b.SubjectID == id && (b.Spent != float64(spent) || b.State != "spent" && spent >= most) {
						t.Errorf("%s says that %v were spent, and that it is %s", n.name, b.Spent, b.State)
					}
				}
			}
		})
	}
}

// spendOver calls an agent over all nodes at once, until each caller is told that the
// budget is used up until its period ends. Who is told to come back sooner does.
func spendOver(t *testing.T, nodes []*node, key, agentID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for i := range 24 {
		cl := client.New(nodes[i%len(nodes)].rest, key)
		group.Go(func() error {
			for {
				_, err := cl.Invoke(ctx, agentID, client.InvokeRequest{Message: "spend"})
				var refusal *beeos.Error
				switch {
				case err == nil:
				case !errors.As(err, &refusal) || refusal.Code != beeos.BudgetExceeded || refusal.RetryAfter <= 0:
					return err
				case refusal.RetryAfter > time.Minute:
					return nil
				case !pause(ctx, refusal.RetryAfter):
					return errors.New("the budget is never used up")
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
