package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	beeosapp "github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/test/apptest"
)

// TestBudgets: what a used-up budget does not allow is refused with when it begins
// anew, a repeated key is not, and an owner who wants to be asked decides.
func TestBudgets(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx, c := t.Context(), client.New(app.REST, app.UserKey)
	id := app.Connect(t, agent.Options{Name: "echo"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		r.Text(m.Text)
		return nil
	})
	call := func(key string) error {
		_, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hi", IdempotencyKey: key})
		return err
	}
	refused := func(least, most time.Duration) {
		t.Helper()
		var e *beeos.Error
		if err := call(""); !errors.As(err, &e) || e.Code != beeos.BudgetExceeded || e.RetryAfter < least || e.RetryAfter > most {
			t.Errorf("%#v", err)
		}
	}
	r := client.BudgetRequest{SubjectType: "agent", SubjectID: id, Unit: "calls", Period: "month", Limit: 2, WarnAt: 50}
	set, err := c.SetBudget(ctx, r)
	if err != nil || set.Spent != 0 || set.State != "ok" || !set.ResetsAt.After(time.Now()) {
		t.Fatalf("%+v %v", set, err)
	}
	for _, key := range []string{"one", "one", "two", "one"} { // repeated, a call takes nothing
		if err := call(key); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	refused(time.Second, 32*24*time.Hour)
	if err := call("one"); err != nil {
		t.Errorf("an answer that is there already: %v", err)
	}
	list, err := c.Budgets(ctx)
	if err != nil || len(list) != 1 || list[0].ID != set.ID || list[0].Spent != 2 || list[0].State != "spent" {
		t.Fatalf("%+v %v", list, err)
	}

	r.WhenSpent = "ask"
	if _, err := c.SetBudget(ctx, r); err != nil {
		t.Fatal(err)
	}
	refused(time.Second, time.Minute)
	asked, err := c.Approvals(ctx, "")
	if err != nil || len(asked) != 1 || asked[0].Tool != "beyond_budget" || asked[0].AgentID != id {
		t.Fatalf("%+v %v", asked, err)
	}
	if _, err := c.Approve(ctx, asked[0].ID); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); call("") != nil; { // a refusal stands for a quarter of a second
		if time.Now().After(deadline) {
			t.Fatal("calls do not go on")
		}
	}
	if list, err = c.Budgets(ctx); err != nil || list[0].State != "lifted" || list[0].Spent < 3 {
		t.Errorf("%+v %v", list, err)
	}

	if err := c.DeleteBudget(ctx, set.ID); err != nil {
		t.Fatal(err)
	}
	if list, err = c.Budgets(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestBudgetsOfOthers: who may set what, and what makes no sense.
func TestBudgetsOfOthers(t *testing.T) {
	cfg := apptest.Config(t)
	app := apptest.Start(t, cfg)
	ctx, c := t.Context(), client.New(app.REST, app.UserKey)
	id := app.Connect(t, agent.Options{Name: "echo"}, func(context.Context, agent.Message, *agent.Reply) error { return nil })
	good := client.BudgetRequest{SubjectType: "agent", SubjectID: id, Unit: "usd", Period: "day", Limit: 0.5}
	for name, c := range map[string]struct {
		change func(*client.BudgetRequest)
		code   beeos.Code
	}{
		"no such agent":   {func(r *client.BudgetRequest) { r.SubjectID = "agent_x" }, beeos.AgentNotFound},
		"no such key":     {func(r *client.BudgetRequest) { r.SubjectType = "key" }, beeos.NotFound},
		"no such app":     {func(r *client.BudgetRequest) { r.SubjectType = "app" }, beeos.NotFound},
		"nothing":         {func(r *client.BudgetRequest) { r.SubjectID = "" }, beeos.MissingParam},
		"no such kind":    {func(r *client.BudgetRequest) { r.SubjectType = "planet" }, beeos.InvalidParam},
		"no such unit":    {func(r *client.BudgetRequest) { r.Unit = "stones" }, beeos.InvalidParam},
		"no such period":  {func(r *client.BudgetRequest) { r.Period = "year" }, beeos.InvalidParam},
		"zero":            {func(r *client.BudgetRequest) { r.Limit = 0 }, beeos.InvalidParam},
		"less than zero":  {func(r *client.BudgetRequest) { r.Limit = -1 }, beeos.InvalidParam},
		"too much":        {func(r *client.BudgetRequest) { r.Limit = 1e300 }, beeos.InvalidParam},
		"half a call":     {func(r *client.BudgetRequest) { r.Unit, r.Limit = "calls", 1.5 }, beeos.InvalidParam},
		"more than whole": {func(r *client.BudgetRequest) { r.WarnAt = 101 }, beeos.InvalidParam},
		"another word":    {func(r *client.BudgetRequest) { r.WhenSpent = "cry" }, beeos.InvalidParam},
	} {
		r := good
		c.change(&r)
		if _, err := client.New(app.REST, app.UserKey).SetBudget(ctx, r); beeos.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	set, err := c.SetBudget(ctx, good)
	if err != nil || set.Limit != 0.5 {
		t.Fatalf("%+v %v", set, err)
	}
	key, err := c.CreateKey(ctx, id, client.KeyRequest{Name: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetBudget(ctx, client.BudgetRequest{SubjectType: "key", SubjectID: key.ID, Unit: "calls", Period: "day", Limit: 1}); err != nil {
		t.Errorf("for an agent's key: %v", err)
	}
	_, bob, err := beeosapp.IssueKey(ctx, cfg, "bob@example.com", beeos.Key{Name: "bob"})
	if err != nil {
		t.Fatal(err)
	}
	stranger := client.New(app.REST, bob)
	if _, err := stranger.SetBudget(ctx, good); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("a stranger sets one: %v", err)
	}
	if err := stranger.DeleteBudget(ctx, set.ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("a stranger ends one: %v", err)
	}
	if list, err := stranger.Budgets(ctx); err != nil || len(list) != 0 {
		t.Errorf("a stranger sees %+v %v", list, err)
	}
	if _, err := client.New(app.REST, key.Secret).Budgets(ctx); beeos.CodeOf(err) != beeos.Unauthorized {
		t.Errorf("an agent key: %v", err)
	}
}
