// Package budget lets calls in as long as the budgets that they fall under last.
// budgets.go knows which those are; an allowance (allowance.go) is a share of one, drawn
// from the database that all nodes draw from, so that a call costs no look at it.
package budget

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/budgets"
)

// Options are what budgets are kept with.
type Options struct {
	Table *budgets.Table // nil = there are none
	Log   *slog.Logger
	Now   func() time.Time

	// Ask asks the owner of a budget that is used up whether calls may go on until
	// it begins anew. It does not wait for them: it is false until they have said
	// no. When they say yes the budget is lifted. nil = nobody is asked.
	Ask func(ctx context.Context, b *budgets.Budget, by Call, began, ends time.Time) (refused bool, err error)
}

// Call is whose call it is that a budget does not allow.
type Call struct {
	Caller  string // a Caller.Principal
	AgentID string
}

// Taken is what a call has taken of its budgets.
type Taken []*allowance

// Return gives it back: the call was not made after all.
func (t Taken) Return() {
	for _, p := range t {
		p.giveBack()
	}
}

// Take takes one call of this caller to this agent from the budgets that it falls
// under. It is BudgetExceeded when one of them is used up.
func (b *Budgets) Take(ctx context.Context, caller *beeos.Caller, agent *beeos.Agent) (Taken, error) {
	known, err := b.find(ctx)
	if err != nil || len(known) == 0 {
		return nil, err
	}
	var taken Taken
	for _, s := range subjects(caller, agent) {
		for _, p := range known[s] {
			if err := p.take(ctx, Call{caller.Principal(), agent.ID}); err != nil {
				taken.Return()
				return nil, err
			}
			taken = append(taken, p)
		}
	}
	return taken, nil
}

// subjects are what a call can have budgets by.
func subjects(caller *beeos.Caller, agent *beeos.Agent) []budgets.Subject {
	list := []budgets.Subject{{Kind: budgets.OfAgent, ID: agent.ID}}
	switch {
	case caller.IsApp():
		list = append(list, budgets.Subject{Kind: budgets.OfApp, ID: caller.Instrument()})
	case caller.Instrument() != "":
		list = append(list, budgets.Subject{Kind: budgets.OfKey, ID: caller.Instrument()})
	}
	if !caller.IsAgentKey() {
		list = append(list, budgets.Subject{Kind: budgets.OfUser, ID: caller.UserID})
	}
	return list
}

// exceeded is the refusal of a call.
func exceeded(b *budgets.Budget, retry time.Duration, why string) error {
	e := beeos.Errorf(beeos.BudgetExceeded, "the budget of %s %s", b, why)
	e.RetryAfter = max(retry, time.Second)
	return e
}

// until says when a budget begins anew.
func until(ends time.Time) string {
	return fmt.Sprintf("it begins anew at %s", ends.Format("2006-01-02 15:04 MST"))
}
