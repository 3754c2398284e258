package client_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestUsage: what agents tell of the models they ask is added up by whatever one
// likes, with the operator's prices, and only for who owns the agents.
func TestUsage(t *testing.T) {
	cfg := apptest.Config(t)
	if err := os.WriteFile(filepath.Join(cfg.Data, "prices.json"), []byte(`{"models": {"dear": {"input": 10, "output": 100}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	app := apptest.Start(t, cfg)
	ctx := t.Context()
	c := client.New(app.REST, app.UserKey)
	steps := app.Connect(t, agent.Options{Name: "stepper"}, func(_ context.Context, _ agent.Message, r *agent.Reply) error {
		think := r.Step("think", agent.StepModel)
		think.Step("ask", agent.StepModel).Tokens("dear-2026-01-01", 100, 10).End(nil)
		think.Tokens("free-for-all", 7, 3).End(nil)
		r.Text("done")
		return nil
	})
	teller := app.Connect(t, agent.Options{Name: "teller"}, func(_ context.Context, _ agent.Message, r *agent.Reply) error {
		r.Usage("secret-sauce", 1, 1, 0.25)
		r.Text("done")
		return nil
	})
	for _, id := range []string{steps, steps, teller} {
		if _, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	usd := func(v float64) *float64 { return &v }
	got, err := c.Usage(ctx, client.UsageFilter{By: []string{"agent", "model"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []client.Usage{
		{AgentID: teller, Model: "secret-sauce", Answers: 1, InputTokens: 1, OutputTokens: 1, CostUSD: usd(0.25)},
		{AgentID: steps, Model: "dear-2026-01-01", Answers: 2, InputTokens: 200, OutputTokens: 20, CostUSD: usd(0.004)},
		{AgentID: steps, Model: "free-for-all", Answers: 2, InputTokens: 14, OutputTokens: 6, UnpricedTokens: 20},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = c.Usage(ctx, client.UsageFilter{AgentID: steps, By: []string{"caller", "credential"}})
	if err != nil || len(got) != 1 || got[0].CallerName == "" || got[0].CredentialID == "" || got[0].InputTokens != 214 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Usage(ctx, client.UsageFilter{By: []string{"colour"}}); err == nil || !strings.Contains(err.Error(), "agent, caller, credential, day, model, tool") {
		t.Error(err)
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, app.REST+"/api/v1/usage?format=csv&group_by=model", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+app.UserKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	table, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(table), ",dear-2026-01-01,2,200,20,0.004000,0\n") || !strings.Contains(string(table), ",free-for-all,2,14,6,,20\n") {
		t.Errorf("%s, %v", table, err)
	}
}
