package client

import (
	"context"
	"net/http"
	"time"
)

// Budget is how much may be taken in a day or a month, and how it stands. Money is
// in dollars.
type Budget struct {
	ID          string    `json:"id"`
	SubjectType string    `json:"subject_type"` // agent, key, app, user
	SubjectID   string    `json:"subject_id"`
	Unit        string    `json:"unit"`   // calls, tokens, usd
	Period      string    `json:"period"` // day, month
	Limit       float64   `json:"limit"`
	WarnAt      int64     `json:"warn_at_percent"`
	WhenSpent   string    `json:"when_spent"` // refuse, ask
	Spent       float64   `json:"spent"`
	State       string    `json:"state"` // ok, low, spent, lifted
	ResetsAt    time.Time `json:"resets_at"`
	CreatedAt   time.Time `json:"created_at"`
}

// BudgetRequest describes a budget to set.
type BudgetRequest struct {
	SubjectType string  `json:"subject_type"`
	SubjectID   string  `json:"subject_id"`
	Unit        string  `json:"unit"`
	Period      string  `json:"period"`
	Limit       float64 `json:"limit"`
	WarnAt      int64   `json:"warn_at_percent"`      // 0 = never
	WhenSpent   string  `json:"when_spent,omitempty"` // empty = refuse
}

// Budgets lists the budgets that the user has set.
func (c *Client) Budgets(ctx context.Context) ([]Budget, error) {
	var list []Budget
	_, err := c.do(ctx, http.MethodGet, "/api/v1/budgets", nil, &list)
	return list, err
}

// SetBudget sets a budget, or changes the one for the same subject, unit and period.
func (c *Client) SetBudget(ctx context.Context, r BudgetRequest) (*Budget, error) {
	return call[Budget](ctx, c, http.MethodPost, "/api/v1/budgets", r)
}

// DeleteBudget ends a budget.
func (c *Client) DeleteBudget(ctx context.Context, id string) error {
	_, err := c.do(ctx, http.MethodDelete, apiPath("budgets", id), nil, nil)
	return err
}
