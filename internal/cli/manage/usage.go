package manage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// UsageCmd adds up what answers took.
type UsageCmd struct {
	remote.Server
	Agent string   `help:"Only that of this agent: id, slug or name."`
	By    []string `default:"agent,model" enum:"agent,caller,credential,day,model,tool" help:"What to add up by, one or several of ${enum}."`
	Days  int      `default:"30" help:"How many days back, today included; they begin at midnight UTC."`
	JSON  bool     `help:"Print JSON."`
}

// Run prints a line per group, the latest day first, then what cost most.
func (c *UsageCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	f := client.UsageFilter{By: c.By, Since: time.Now().UTC().AddDate(0, 0, 1-max(c.Days, 1))}
	if c.Agent != "" {
		a, err := cl.Find(ctx, c.Agent)
		if err != nil {
			return err
		}
		f.AgentID = a.ID
	}
	found, err := cl.Usage(ctx, f)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(append([]client.Usage{}, found...))
	}
	agents, err := cl.Agents(ctx)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for i := range agents {
		names[agents[i].ID] = agents[i].Name
	}
	head, rows := c.table(found, names)
	if len(rows) == 0 {
		t.Note("no answer of the last %d days said what it took", max(c.Days, 1))
		return nil
	}
	return t.PrintTable(head, rows)
}

// table is what was found as rows of cells: what it was grouped by, then the sums.
func (c *UsageCmd) table(found []client.Usage, names map[string]string) (head []string, rows [][]string) {
	cell := map[string]func(u *client.Usage) string{
		"day":        func(u *client.Usage) string { return u.Day },
		"agent":      func(u *client.Usage) string { return cmp.Or(names[u.AgentID], u.AgentID) },
		"caller":     func(u *client.Usage) string { return u.CallerName },
		"credential": func(u *client.Usage) string { return cmp.Or(u.CredentialID, "-") },
		"tool":       func(u *client.Usage) string { return cmp.Or(u.Tool, "-") },
		"model":      func(u *client.Usage) string { return cmp.Or(u.Model, "-") },
	}
	by := slices.Compact(slices.Sorted(slices.Values(c.By)))
	head = append(slices.Clone(by), "answers", "input_tokens", "output_tokens", "cost_usd", "unpriced_tokens")
	for i := range found {
		u := &found[i]
		var row []string
		for _, name := range by {
			row = append(row, cell[name](u))
		}
		cost := ""
		if u.CostUSD != nil {
			cost = fmt.Sprintf("%.4f", *u.CostUSD)
		}
		n := func(n int64) string { return strconv.FormatInt(n, 10) }
		rows = append(rows, append(row, n(u.Answers), n(u.InputTokens), n(u.OutputTokens), cost, n(u.UnpricedTokens)))
	}
	return head, rows
}
