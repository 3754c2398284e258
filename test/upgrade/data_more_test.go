//go:build unix

package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/test/hands"
)

// filled are the tables in which each archive has rows, and the version of the tables
// from which it has: a migration that loses rows is not noticed where there are none.
var filled = map[string]int64{
	"users": 1, "agents": 1, "instances": 1, "api_keys": 1, "secrets": 1, "audit": 1, "channels": 1, "messages": 1, "deliveries": 1, "idempotency": 1,
	"files": 1, "logins": 1, "oauth_keys": 1, "oauth_clients": 1, "oauth_grants": 1, "oauth_families": 1, "webhooks": 1, "webhook_deliveries": 1,
	"builtin_agents": 1, "skill_tools": 1, "skill_tokens": 1, "approvals": 1, "approval_rules": 1, "builtin_steps": 16, "skill_listings": 19,
	"routes": 23, "usage": usageSince, "budgets": budgetsSince, "notification_channels": notificationsSince, "notifications": notificationsSince,
	"notification_deliveries": notificationsSince,
}

// checkFilled looks into the tables before anybody has upgraded them.
func (p *past) checkFilled(t *testing.T, dsn string) {
	t.Helper()
	db, err := database.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for table, since := range filled {
		if p.Tables < since {
			continue
		}
		if n, err := database.GetValue[int64](t.Context(), db, "count rows", "SELECT count(*) FROM "+table); err != nil || n == 0 {
			t.Errorf("%s has %d rows, %v", table, n, err)
		}
	}
}

// checkMore: what has been made besides calls is there.
func (p *past) checkMore(t *testing.T, dsn string) {
	p.checkRule(t)
	p.checkClerk(t)
	p.checkApp(t, dsn)
	if p.Tables >= usageSince {
		list, err := p.door.Usage(t.Context(), client.UsageFilter{})
		if err != nil || len(list) == 0 {
			t.Errorf("usage: %+v, %v", list, err)
		}
	}
	if p.Tables >= budgetsSince {
		list, err := p.door.Budgets(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != p.Budget || list[0].Spent == 0 {
			t.Errorf("budgets: %+v, %v", list, err)
		}
	}
	if p.Tables >= notificationsSince {
		list, err := p.door.NotificationChannels(t.Context())
		if err != nil || len(list) != 1 || list[0].ID != p.Channel {
			t.Errorf("notification channels: %+v, %v", list, err)
		}
	}
}

func (p *past) checkRule(t *testing.T) {
	var got json.RawMessage
	if err := exchange(t.Context(), http.MethodGet, PolicyURL(p.server.REST, p.AgentID), "", p.UserKey, nil, &got); err != nil || !bytes.Contains(got, []byte(RuleTool)) {
		t.Errorf("the rule about %s: %s, %v", RuleTool, got, err)
	}
}

// checkClerk: the built-in agent connects with its sealed key and answers with today's
// model, though its skill server is gone.
func (p *past) checkClerk(t *testing.T) {
	err := p.door.until(t.Context(), "the built-in agent is online", func() (bool, error) {
		a, err := p.door.Agent(t.Context(), p.Clerk)
		return err == nil && a.Online, err
	})
	if err != nil {
		t.Error(err)
		return
	}
	p.model.Play(func(talk hands.Talk) hands.Words {
		return hands.Words{Text: fmt.Sprint("still here, and told: ", talk.Last().Content)}
	})
	a, err := p.door.Invoke(t.Context(), p.Clerk, client.InvokeRequest{Message: "hello"})
	if err != nil || !strings.HasPrefix(a.Text, "still here") {
		t.Errorf("the built-in agent says %+v, %v", a, err)
	}
}

// checkApp: the app that was let in gets new tokens, and is let in with them.
func (p *past) checkApp(t *testing.T, dsn string) {
	ctx := t.Context()
	var about struct{ Resource string }
	if err := exchange(ctx, http.MethodGet, ResourceURL(p.server.MCP, p.AgentID), "", "", nil, &about); err != nil {
		t.Error(err)
		return
	}
	db, err := database.Open(ctx, dsn) // the server is at another port now
	if err == nil {
		err = database.Exec(ctx, db, "move the resource", "UPDATE oauth_families SET resource = $1 WHERE resource = $2", about.Resource, p.App.Resource)
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.App.Resource = about.Resource
	token, err := p.App.RefreshToken(ctx, p.server.MCP)
	if err != nil {
		t.Errorf("another token for the app: %v", err)
		return
	}
	var listed json.RawMessage
	list := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
	if err := exchange(ctx, http.MethodPost, p.server.MCP+"/"+p.AgentID+"/mcp", "application/json", token, list, &listed); err != nil || !bytes.Contains(listed, []byte("shout")) {
		t.Errorf("the app is told %s, %v", listed, err)
	}
}
