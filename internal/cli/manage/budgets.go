package manage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// BudgetsCmd is about budgets.
type BudgetsCmd struct {
	Set    BudgetsSetCmd    `cmd:"" help:"Set how much may be taken in a day or a month."`
	List   BudgetsListCmd   `cmd:"" help:"List budgets and how much of each was taken."`
	Delete BudgetsDeleteCmd `cmd:"" help:"End a budget."`
}

// BudgetsSetCmd sets a budget.
type BudgetsSetCmd struct {
	remote.Server
	Agent string `xor:"subject" required:"" placeholder:"AGENT" help:"For all calls to this agent: id, slug or name."`
	Key   string `name:"api-key" xor:"subject" required:"" placeholder:"ID" help:"For all calls with this key: an id from beeos keys list."`
	App   string `xor:"subject" required:"" placeholder:"ID" help:"For all calls of this app: an id from the console's page of apps."`
	User  string `xor:"subject" required:"" placeholder:"ID" help:"For all calls of this user: you, or for admins anybody."`

	Calls  float64 `xor:"unit" required:"" placeholder:"N" help:"At most so many calls."`
	Tokens float64 `xor:"unit" required:"" placeholder:"N" help:"At most so many tokens, in and out."`
	USD    float64 `name:"usd" xor:"unit" required:"" placeholder:"N" help:"At most so many dollars."`

	Per  string `default:"day" enum:"day,month" help:"Until when it lasts: ${enum}; both begin at midnight UTC."`
	Warn int64  `default:"80" placeholder:"PERCENT" help:"The share at which it counts as low. 0: never."`
	Ask  bool   `help:"Ask me, instead of refusing calls, when it is used up."`
	JSON bool   `help:"Print JSON."`
}

// Run sets the budget, which counts from the next call on.
func (c *BudgetsSetCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	r := client.BudgetRequest{Period: c.Per, WarnAt: c.Warn}
	if c.Ask {
		r.WhenSpent = "ask"
	}
	switch {
	case c.Agent != "":
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		r.SubjectType, r.SubjectID = "agent", a.ID
	case c.Key != "":
		r.SubjectType, r.SubjectID = "key", c.Key
	case c.App != "":
		r.SubjectType, r.SubjectID = "app", c.App
	default:
		r.SubjectType, r.SubjectID = "user", c.User
	}
	switch {
	case c.Calls != 0:
		r.Unit, r.Limit = "calls", c.Calls
	case c.Tokens != 0:
		r.Unit, r.Limit = "tokens", c.Tokens
	default:
		r.Unit, r.Limit = "usd", c.USD
	}
	b, err := cl.SetBudget(ctx, r)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(b)
	}
	t.Note("%s a %s for this %s; %s so far", amount(b.Unit, b.Limit), b.Period, b.SubjectType, amount(b.Unit, b.Spent))
	return nil
}

// BudgetsListCmd lists budgets.
type BudgetsListCmd struct {
	remote.Server
	JSON bool `help:"Print JSON."`
}

// Run lists budgets.
func (c *BudgetsListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, err := cl.Budgets(ctx)
	if err != nil {
		return err
	}
	return terminal.PrintList(t, c.JSON, list, "ID FOR SUBJECT LIMIT PER SPENT STATE RESETS", func(b *client.Budget) []string {
		return []string{b.ID, b.SubjectType, b.SubjectID, amount(b.Unit, b.Limit), b.Period, amount(b.Unit, b.Spent), b.State, terminal.Until(b.ResetsAt)}
	})
}

// amount is an amount as people read it.
func amount(unit string, n float64) string {
	if unit == "usd" {
		return fmt.Sprintf("$%.2f", n)
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " " + unit
}

// BudgetsDeleteCmd ends a budget.
type BudgetsDeleteCmd struct {
	remote.Server
	ID string `arg:"" help:"Id of the budget."`
}

// Run ends the budget.
func (c *BudgetsDeleteCmd) Run(ctx context.Context, cl *client.Client) error {
	return cl.DeleteBudget(ctx, c.ID)
}
