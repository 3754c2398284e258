package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestPausedTaskHasItsQuestion: who looks at a task that waits learns for what,
// and how to answer.
func TestPausedTaskHasItsQuestion(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	id := app.Connect(t, agent.Options{Name: "painter"}, func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		colour, err := r.InputRequired(ctx, "Which colour?", map[string]int{"n": 3})
		if err != nil {
			return err
		}
		if _, err = r.AuthRequired(ctx, "Your brushes?", nil); err != nil {
			return err
		}
		return r.Send("painted " + colour.Text)
	})
	c := client.New(app.REST, app.UserKey)
	task, err := c.CreateTask(ctx, id, client.TaskRequest{Message: "paint"})
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range c.WatchTask(ctx, id, task.ID) {
		if err != nil {
			t.Fatal(err)
		}
		now, err := c.Task(ctx, id, task.ID)
		if err != nil {
			t.Fatal(err)
		}
		switch u.Message.Type {
		case beeos.AgentInputRequired:
			q := now.Question
			if q == nil || q.Text != "Which colour?" || q.Type != u.Message.Type || q.MessageID != u.Message.ID || q.AskedAt.IsZero() || string(q.Payload) != `{"n":3}` {
				t.Errorf("the first question: %+v", q)
			}
			if _, err := c.ContinueTask(ctx, id, task.ID, "red"); err != nil {
				t.Fatal(err)
			}
		case beeos.AgentAuthRequired:
			if q := now.Question; q == nil || q.Text != "Your brushes?" || q.Type != u.Message.Type {
				t.Errorf("the second question: %+v", q)
			}
			if _, err := c.GrantTask(ctx, id, task.ID, true); err != nil {
				t.Fatal(err)
			}
		case beeos.AgentReply:
			if now.Question != nil || u.Message.Body != "painted red" {
				t.Errorf("the end: %+v, %q", now.Question, u.Message.Body)
			}
		}
	}
}

// TestLimitsOfAgentAndKey: a key's own limit comes before its agent's.
func TestLimitsOfAgentAndKey(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	c := client.New(app.REST, app.UserKey)
	if l, err := c.AgentLimits(ctx, app.AgentID); err != nil || l.RatePerMinute != 0 {
		t.Errorf("at first: %+v, %v", l, err)
	}
	if l, err := c.SetAgentLimits(ctx, app.AgentID, client.AgentLimits{RatePerMinute: 1}); err != nil || l.RatePerMinute != 1 {
		t.Errorf("set: %+v, %v", l, err)
	}
	if l, err := c.AgentLimits(ctx, app.AgentID); err != nil || l.RatePerMinute != 1 {
		t.Errorf("read again: %+v, %v", l, err)
	}
	k, err := c.CreateKey(ctx, app.AgentID, client.KeyRequest{Name: "k", RatePerMinute: 2})
	if err != nil || k.RatePerMinute != 2 {
		t.Fatalf("CreateKey = %+v, %v", k, err)
	}
	for key, calls := range map[string]int{app.UserKey: 1, k.Secret: 2} {
		mine := client.New(app.REST, key)
		for range calls {
			if _, err := mine.Invoke(ctx, app.AgentID, client.InvokeRequest{Message: "x"}); err != nil {
				t.Errorf("one of %d calls: %v", calls, err)
			}
		}
		_, err := mine.Invoke(ctx, app.AgentID, client.InvokeRequest{Message: "x"})
		if beeos.CodeOf(err) != beeos.RateLimited || beeos.Public(err).RetryAfter == 0 {
			t.Errorf("one call more than %d: %v", calls, err)
		}
	}
	if _, err := c.SetAgentLimits(ctx, app.AgentID, client.AgentLimits{RatePerMinute: -1}); beeos.CodeOf(err) == "" {
		t.Errorf("a limit below zero: %v", err)
	}
}

// TestMarketplaceOnAServer finds an agent by its words once its owner offers it.
func TestMarketplaceOnAServer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	c := client.New(app.REST, app.UserKey)
	names := func(f client.MarketplaceFilter) string {
		var found []string
		for o, err := range c.Marketplace(ctx, f) {
			if err != nil {
				t.Fatal(err)
			}
			if o.ID != app.AgentID || o.Owner == "" || o.OwnerID == "" || o.MCPURL == "" {
				t.Errorf("offered: %+v", o)
			}
			found = append(found, o.Name)
		}
		return strings.Join(found, " ")
	}
	if got := names(client.MarketplaceFilter{}); got != "" {
		t.Errorf("private agents are offered: %s", got)
	}
	offered := "marketplace"
	if _, err := c.UpdateAgent(ctx, app.AgentID, client.AgentUpdate{Visibility: &offered}); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]client.MarketplaceFilter{"echo": {Query: "ECHO"}, "": {Query: "echo", Tag: "none"}} {
		if got := names(f); got != want {
			t.Errorf("%+v finds %q, want %q", f, got, want)
		}
	}
}

// TestMarketplaceTurnsPages to the last one, and stops where the reader does.
func TestMarketplaceTurnsPages(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if r.URL.Query().Get("cursor") == "" {
			fmt.Fprint(w, `{"success":true,"data":{"agents":[{"id":"a"},{"id":"b"}],"next_cursor":"b"}}`)
			return
		}
		fmt.Fprint(w, `{"success":true,"data":{"agents":[{"id":"c"}]}}`)
	}))
	defer srv.Close()
	c := client.New(srv.URL, "k")
	all := ""
	for o, err := range c.Marketplace(t.Context(), client.MarketplaceFilter{Query: "x y", OwnerID: "u"}) {
		if err != nil {
			t.Fatal(err)
		}
		all += o.ID
	}
	for range c.Marketplace(t.Context(), client.MarketplaceFilter{}) {
		break
	}
	want := "limit=100&owner=u&query=x+y|cursor=b&limit=100&owner=u&query=x+y|limit=100"
	if got := strings.Join(asked, "|"); all != "abc" || got != want {
		t.Errorf("%s, asked %s", all, got)
	}
}
