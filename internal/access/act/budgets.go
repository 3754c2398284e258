package act

import (
	"context"
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/store/budgets"
	"github.com/beeos/beeos/internal/store/grants"
)

// maxBudgets bounds those of one person.
const maxBudgets = 200

// BudgetState says how a budget stands.
type BudgetState string

const (
	BudgetOK     BudgetState = "ok"
	BudgetLow    BudgetState = "low"    // its share for a warning is used up
	BudgetSpent  BudgetState = "spent"  // calls are refused, or wait for the owner's word
	BudgetLifted BudgetState = "lifted" // its owner lets calls go on until it begins anew
)

// BudgetStatus is a budget and how it stands in its period.
type BudgetStatus struct {
	budgets.Budget
	Spent    int64
	ResetsAt time.Time
	State    BudgetState
}

// Budgets lists those that the caller has set, and counts what was taken of each.
func (a *Acts) Budgets(ctx context.Context, c beeos.Caller) ([]BudgetStatus, error) {
	if err := RequirePerson(c); err != nil {
		return nil, err
	}
	list, err := a.DB.Budgets.List(ctx, c.UserID)
	if err != nil {
		return nil, err
	}
	found := make([]BudgetStatus, 0, len(list))
	for _, b := range list {
		status, err := a.budgetStatus(ctx, b)
		if err != nil {
			return nil, err
		}
		found = append(found, status)
	}
	return found, nil
}

// LowBudgets counts those that the caller has set and that are used up or nearly so.
func (a *Acts) LowBudgets(ctx context.Context, c beeos.Caller) (int, error) {
	if err := RequirePerson(c); err != nil {
		return 0, err
	}
	return a.DB.Budgets.CountLow(ctx, c.UserID, a.Now())
}

func (a *Acts) budgetStatus(ctx context.Context, b budgets.Budget) (BudgetStatus, error) {
	now := a.Now()
	_, ends := b.Period.Span(now)
	c, _, err := a.DB.Budgets.Count(ctx, &b, now, time.Time{}) // no share is forgotten for the sake of a look
	s := BudgetStatus{Budget: b, Spent: c.Spent, ResetsAt: ends, State: BudgetOK}
	switch {
	case c.Beyond:
		s.State = BudgetLifted
	case c.Spent >= b.Most:
		s.State = BudgetSpent
	case b.WarnAt > 0 && c.Spent >= b.Most*b.WarnAt/100:
		s.State = BudgetLow
	}
	return s, err
}

// SetBudget sets how much may be taken of one unit in one period: for an agent, a
// key or an app of the caller's, or for the caller. Admins set it for anybody, and
// what they have set only they change.
func (a *Acts) SetBudget(ctx context.Context, c beeos.Caller, b budgets.Budget) (BudgetStatus, error) {
	if err := a.checkBudget(ctx, c, &b); err != nil {
		return BudgetStatus{}, err
	}
	b.ID, b.CreatedAt = beeos.NewID(), a.Now()
	b, err := a.DB.Budgets.Set(ctx, b)
	if err != nil {
		return BudgetStatus{}, err
	}
	a.tell(bus.Control{Kind: bus.BudgetsChanged})
	a.record(ctx, c, b.OwnerID, audit.BudgetSet, b.ID, describeBudget(&b))
	return a.budgetStatus(ctx, b)
}

// DeleteBudget ends a budget: calls under it are no longer counted.
func (a *Acts) DeleteBudget(ctx context.Context, c beeos.Caller, id string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	b, err := a.DB.Budgets.Get(ctx, id)
	if err == nil && !a.mayChangeBudget(ctx, c, &b) || isAbsent(err) {
		err = beeos.Errorf(beeos.NotFound, "you have set no such budget; list them to see which you have")
	}
	if err != nil {
		return err
	}
	if err := a.DB.Budgets.Delete(ctx, id); err != nil {
		return err
	}
	a.tell(bus.Control{Kind: bus.BudgetsChanged})
	a.record(ctx, c, b.OwnerID, audit.BudgetDelete, id, describeBudget(&b))
	return nil
}

// mayChangeBudget reports whether a budget is the caller's to change.
func (a *Acts) mayChangeBudget(ctx context.Context, c beeos.Caller, b *budgets.Budget) bool {
	return owns(c, b.OwnerID) || a.requireAdmin(ctx, c) == nil
}

// checkBudget refuses a budget that makes no sense, or that is not the caller's to
// set, and says who owns it.
func (a *Acts) checkBudget(ctx context.Context, c beeos.Caller, b *budgets.Budget) error {
	if b.WarnAt < 0 || b.WarnAt > 100 {
		return beeos.Errorf(beeos.InvalidParam, "warn_at_percent must be from 0 (never) to 100")
	}
	owner, err := a.budgetOwner(ctx, c, b.Subject)
	if err != nil {
		return err
	}
	all, err := a.DB.Budgets.List(ctx, "")
	if err != nil {
		return err
	}
	mine := 0
	for i := range all {
		old := &all[i]
		if old.OwnerID == owner {
			mine++
		}
		if old.Subject != b.Subject || old.Unit != b.Unit || old.Period != b.Period {
			continue
		}
		if !a.mayChangeBudget(ctx, c, old) {
			return beeos.Errorf(beeos.Forbidden, "an admin has set this budget; ask them to change it")
		}
		mine, owner = 0, old.OwnerID // it takes no more room
		break
	}
	if mine >= maxBudgets {
		return beeos.Errorf(beeos.InvalidParam, "you have %d budgets, which is the limit; delete one first", maxBudgets)
	}
	b.OwnerID = owner
	return nil
}

// budgetOwner is whose a budget for something would be.
func (a *Acts) budgetOwner(ctx context.Context, c beeos.Caller, s budgets.Subject) (string, error) {
	if err := RequirePerson(c); err != nil {
		return "", err
	}
	switch s.Kind {
	case budgets.OfAgent:
		agent, err := a.OwnAgent(ctx, c, s.ID)
		if err != nil {
			return "", err
		}
		return agent.OwnerID, nil
	case budgets.OfKey:
		keys, err := a.Keys(ctx, c, "", "")
		if err == nil && !slices.ContainsFunc(keys, func(k beeos.Key) bool { return k.ID == s.ID }) {
			err = beeos.Errorf(beeos.NotFound, "you have no key %q; list your keys to see which you have", s.ID)
		}
		return c.UserID, err
	case budgets.OfApp:
		apps, err := a.DB.Grants.ListGrants(ctx, c.UserID)
		if err == nil && !slices.ContainsFunc(apps, func(g grants.Grant) bool { return g.ID == s.ID }) {
			err = beeos.Errorf(beeos.NotFound, "you have let no app %q at your agents; the console's page of apps shows which you have", s.ID)
		}
		return c.UserID, err
	case budgets.OfUser:
		if s.ID != c.UserID {
			if err := a.requireAdmin(ctx, c); err != nil {
				return "", err
			}
			if _, err := a.DB.People.GetUser(ctx, s.ID); err != nil {
				return "", err
			}
		}
		return c.UserID, nil
	}
	_, err := budgets.Parse("subject_type", string(s.Kind), budgets.Kinds())
	return "", err
}

func describeBudget(b *budgets.Budget) map[string]string {
	return map[string]string{"budget": b.String(), "subject": b.Subject.ID}
}

// BudgetSubject is something that the caller may set a budget for, and its name.
type BudgetSubject struct {
	budgets.Subject
	Name string
}

// BudgetSubjects lists what the caller may set budgets for: the agents, keys and
// apps that are theirs, and themselves.
func (a *Acts) BudgetSubjects(ctx context.Context, c beeos.Caller) ([]BudgetSubject, error) {
	keys, err := a.Keys(ctx, c, "", "") // refuses whoever is no person
	if err != nil {
		return nil, err
	}
	own, _, err := a.DB.Agents.List(ctx, agents.Filter{OwnerID: c.UserID, Limit: maxBudgets})
	if err != nil {
		return nil, err
	}
	apps, err := a.DB.Grants.ListGrants(ctx, c.UserID)
	if err != nil {
		return nil, err
	}
	var list []BudgetSubject
	for _, agent := range own {
		list = append(list, BudgetSubject{budgets.Subject{Kind: budgets.OfAgent, ID: agent.ID}, agent.Name})
	}
	for _, k := range keys {
		list = append(list, BudgetSubject{budgets.Subject{Kind: budgets.OfKey, ID: k.ID}, k.Name})
	}
	for _, g := range apps {
		list = append(list, BudgetSubject{budgets.Subject{Kind: budgets.OfApp, ID: g.ID}, g.ClientName})
	}
	return append(list, BudgetSubject{budgets.Subject{Kind: budgets.OfUser, ID: c.UserID}, "me"}), nil
}
