package web

import (
	"regexp"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestConversationsWithAllAgents: they are on one page, and found by their titles
// and the names of their agents; what was said is not looked at.
func TestConversationsWithAllAgents(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agents, b := k.agents(ann, 2), k.signedIn(ann)
	if body := b.get("/conversations").body; !strings.Contains(body, "No conversations yet") {
		t.Errorf("none yet: %s", body)
	}
	begin := func(owner beeos.User, a *beeos.Agent, title, kind string) string {
		t.Helper()
		ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: a.ID, Owner: "user:" + owner.ID, Kind: kind, Title: title}
		if err := k.ledger.CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		return ch.ID
	}
	rain, tax := begin(ann, agents[0], "Rain in Bern", beeos.KindConversation), begin(ann, agents[1], "100% of the tax_form", beeos.KindConversation)
	begin(ann, agents[0], "Rain over MCP", beeos.KindMCP)
	begin(bob, agents[0], "Rain for Bob", beeos.KindConversation)
	for query, want := range map[string][]string{
		"": {rain, tax}, "RAIN": {rain}, "agent 1": {tax}, "0%25": {tax}, "x_f": {tax}, "a_n": nil, "%25": {tax}, "nothing": nil,
	} {
		body := b.get("/conversations?q=" + strings.ReplaceAll(query, " ", "+")).body
		if n := strings.Count(body, "data-conversation="); n != len(want) {
			t.Errorf("%q finds %d: %s", query, n, body)
		}
		for _, id := range want {
			if !strings.Contains(body, `/chat/`+id+`"`) {
				t.Errorf("%q does not find %s", query, id)
			}
		}
	}
	for range 60 {
		begin(ann, agents[0], "", beeos.KindConversation)
	}
	body := b.get("/conversations?q=agent").body
	older := regexp.MustCompile(`href="([^"]+before=[^"]+)"`).FindStringSubmatch(body)
	if strings.Count(body, "data-conversation=") != 50 || older == nil {
		t.Fatalf("%d on a page", strings.Count(body, "data-conversation="))
	}
	if n := strings.Count(b.get(strings.ReplaceAll(older[1], "&amp;", "&")).body, "data-conversation="); n != 12 {
		t.Errorf("%d on the next", n)
	}
}
