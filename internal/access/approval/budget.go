package approval

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/budgets"
)

// beyondBudget is what people read in place of a tool.
const beyondBudget = "beyond_budget"

// AskBudget asks the owner of a budget that is used up whether calls may go on until
// its period ends. It does not wait: it is true once they have said no.
func (s *Approvals) AskBudget(ctx context.Context, b *budgets.Budget, by budget.Call, began, ends time.Time) (refused bool, err error) {
	arguments, err := json.Marshal(map[string]any{"budget": b.String(), "used_up_by": b.Subject.ID, "let_calls_in_until": ends})
	if err != nil {
		return false, err
	}
	hash := sha256.Sum256(arguments)
	a, fresh, err := s.Table.Ask(ctx, approvals.Approval{
		ID: beeos.NewID(), OwnerID: b.OwnerID, AgentID: by.AgentID, Caller: by.Caller, Turn: approvals.BudgetTurn + b.ID,
		Tool: beyondBudget, Arguments: arguments, Hash: hash[:], PolicyVersion: began.Format(time.RFC3339), CreatedAt: s.Now(), ExpiresAt: ends,
	}, "")
	if fresh {
		s.announceChange(a.ID)
	}
	if err == nil && a.State == approvals.Approved { // whoever took the decision did not live to act on it
		err = s.liftBudget(ctx, &a)
	}
	return !a.Open() && a.State != approvals.Approved, err
}

// liftBudget lifts the budget that an approval is about until its period ends. That
// is the one use of the approval.
func (s *Approvals) liftBudget(ctx context.Context, a *approvals.Approval) error {
	began, err := time.Parse(time.RFC3339, a.PolicyVersion)
	if err != nil {
		return err
	}
	if err := s.Budgets.LetGoOn(ctx, strings.TrimPrefix(a.Turn, approvals.BudgetTurn), began); err != nil {
		return err
	}
	return s.Table.Use(ctx, a.ID, a.Hash, a.PolicyVersion, a.Turn, s.Now())
}
