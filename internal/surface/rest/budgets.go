package rest

import (
	"cmp"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// budgetView is a budget and how it stands. Money is in dollars.
type budgetView struct {
	ID          string          `json:"id"`
	SubjectType budgets.Kind    `json:"subject_type"`
	SubjectID   string          `json:"subject_id"`
	Unit        budgets.Unit    `json:"unit"`
	Period      budgets.Period  `json:"period"`
	Limit       float64         `json:"limit"`
	WarnAt      int64           `json:"warn_at_percent"`
	WhenSpent   string          `json:"when_spent"`
	Spent       float64         `json:"spent"`
	State       act.BudgetState `json:"state"`
	ResetsAt    time.Time       `json:"resets_at"`
	CreatedAt   time.Time       `json:"created_at"`
}

// What becomes of calls when a budget is used up.
const (
	spentRefuse = "refuse"
	spentAsk    = "ask"
)

func viewBudget(b *act.BudgetStatus) budgetView {
	v := budgetView{
		ID: b.ID, SubjectType: b.Kind, SubjectID: b.Subject.ID, Unit: b.Unit, Period: b.Period, Limit: float64(b.Most) / b.Unit.Scale(),
		WarnAt: b.WarnAt, WhenSpent: spentRefuse, Spent: float64(b.Spent) / b.Unit.Scale(), State: b.State, ResetsAt: b.ResetsAt, CreatedAt: b.CreatedAt,
	}
	if b.Ask {
		v.WhenSpent = spentAsk
	}
	return v
}

func (s *Surface) listBudgets(r *route.Request) (any, error) {
	list, err := s.opt.Acts.Budgets(r.Context(), r.Caller)
	return route.Views(list, viewBudget), err
}

// setBudget sets a budget, or changes the one for the same subject, unit and period.
func (s *Surface) setBudget(r *route.Request) (any, error) {
	var kind, id, unit, period, whenSpent string
	var limit float64
	warnAt := int64(80)
	err := r.ReadSettings(route.Strict, route.Shape{
		"subject_type": &kind, "subject_id": &id, "unit": &unit, "period": &period, "limit": &limit, "warn_at_percent": &warnAt, "when_spent": &whenSpent,
	})
	if err != nil {
		return nil, err
	}
	b := budgets.Budget{WarnAt: warnAt, Ask: whenSpent == spentAsk}
	if _, err := budgets.Parse("when_spent", cmp.Or(whenSpent, spentRefuse), []string{spentRefuse, spentAsk}); err != nil {
		return nil, err
	}
	if b.Unit, err = budgets.Parse("unit", unit, budgets.Units()); err != nil {
		return nil, err
	}
	if b.Period, err = budgets.Parse("period", period, budgets.Periods()); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, beeos.Errorf(beeos.MissingParam, "subject_id is required: the id of the agent, key, app or user")
	}
	b.Subject = budgets.Subject{Kind: budgets.Kind(kind), ID: id}
	if b.Most, err = b.Unit.Amount(limit); err != nil {
		return nil, err
	}
	status, err := s.opt.Acts.SetBudget(r.Context(), r.Caller, b)
	if err != nil {
		return nil, err
	}
	return viewBudget(&status), nil
}

func (s *Surface) deleteBudget(r *route.Request) (any, error) {
	return route.NoContent, s.opt.Acts.DeleteBudget(r.Context(), r.Caller, r.PathValue("id"))
}
