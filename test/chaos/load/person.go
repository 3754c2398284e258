//go:build unix

package load

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/beeos/beeos/test/chaos/history"
)

// askApproval makes calls for which the agent has to ask its owner. It has a
// key: what was done on somebody's yes must not be done again.
func (l *Load) askApproval(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		op, n := l.newOp(history.Approval, true, "save", [...]string{"yes", "no"}[rng.IntN(2)]), l.node(rng)
		op.WantsNo = strings.Contains(op.Text, " no ")
		l.try(ctx, n, op, func(ctx context.Context) (answer, error) { return l.askREST(ctx, n, op) })
		l.end(ctx, op)
		wait(ctx, 5*rest)
	}
}

// decide is the owner, at one server after the other.
func (l *Load) decide(ctx context.Context) {
	rng := rand.New(rand.NewPCG(l.seed, 1))
	for wait(ctx, rest) {
		l.decideOnce(ctx, rng)
	}
}

func (l *Load) decideOnce(ctx context.Context, rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, allowed)
	defer cancel()
	c := l.client(l.node(rng))
	pending, err := c.Approvals(ctx, "pending")
	if err != nil {
		return // another one is asked the next time
	}
	for _, p := range pending {
		var args struct{ What string }
		if json.Unmarshal(p.Arguments, &args) != nil {
			continue
		}
		// A decision whose answer is lost is made again: it is a conflict then.
		if strings.Contains(args.What, " no ") {
			c.Reject(ctx, p.ID, "the campaign says no") //nolint:errcheck // as above
		} else {
			c.Approve(ctx, p.ID) //nolint:errcheck // as above
		}
	}
}
