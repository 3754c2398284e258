package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestLostVisitorsHaveTheMenu: who is signed in and meets a page that is not
// there goes on from it; a stranger learns nothing of the rooms.
func TestLostVisitorsHaveTheMenu(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	for _, path := range []string{"/nothing", "/agents/agent_none", "/agents/agent_none/chat"} {
		res := k.signedIn(ann).get(path)
		if res.status != http.StatusNotFound || !strings.Contains(res.body, `<nav aria-label="Console">`) || !strings.Contains(res.body, `href="/agents"`) || strings.Contains(res.body, "aria-current") {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
	if res := k.browser().get("/nothing"); res.status != http.StatusNotFound || strings.Contains(res.body, "<nav") {
		t.Errorf("a stranger: %d %s", res.status, res.body)
	}
}

// TestAgentPageSaysWhatAgentIs: the description is laid out, and only an agent
// that can be talked with has a Chat tab.
func TestAgentPageSaysWhatAgentIs(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	instance := beeos.Instance{ID: beeos.NewID(), OwnerID: ann.ID, Name: "test", PublicKey: []byte(strings.Repeat("k", 32)), CreatedAt: time.Now()}
	if err := k.db.Instances.Create(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	synced, err := k.db.Agents.Sync(t.Context(), instance, []beeos.Definition{
		{Name: "parrot", Description: "Says **back** what it hears.\n\n<script>x</script>"},
		{Name: "tools", Capabilities: json.RawMessage(`{"chat":false}`)},
		{Name: "odd", Capabilities: json.RawMessage(`{"chat":"maybe"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, ids := k.signedIn(ann), synced.IDs()
	body := b.get("/agents/" + ids["parrot"]).body
	if !strings.Contains(body, "Says <strong>back</strong> what it hears.") || strings.Contains(body, "<script>x") {
		t.Errorf("the description: %s", body)
	}
	for name, chats := range map[string]bool{"parrot": true, "tools": false, "odd": true} {
		body := b.get("/agents/" + ids[name]).body
		if strings.Contains(body, `href="/agents/`+ids[name]+`/chat"`) != chats || !strings.Contains(body, `href="/agents/`+ids[name]+`/access"`) {
			t.Errorf("the tabs of %s: %s", name, body)
		}
	}
}
