package invoke

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

func TestContextChannel(t *testing.T) {
	user := func(id string) *beeos.Caller {
		return &beeos.Caller{Kind: beeos.ByUserKey, UserID: id, CredentialID: "k1"}
	}
	app := func(grant string) *beeos.Caller {
		return &beeos.Caller{Kind: beeos.ByOAuth, UserID: "u", CredentialID: grant}
	}
	u := user("u")
	first := ContextChannel(u, "agent_a", "ctx")
	again := ContextChannel(&beeos.Caller{Kind: beeos.BySession, UserID: "u", CredentialID: "console:u"}, "agent_a", "ctx")
	if first != again || len(first) != 39 {
		t.Errorf("%s, %s", first, again)
	}
	seen := map[string]bool{first: true}
	for _, other := range []string{
		ContextChannel(user("v"), "agent_a", "ctx"), ContextChannel(u, "agent_b", "ctx"), ContextChannel(u, "agent_a", "ctx2"),
		ContextChannel(app("g1"), "agent_a", "ctx"), ContextChannel(app("g2"), "agent_a", "ctx"),
	} {
		if seen[other] {
			t.Error("two contexts share a channel")
		}
		seen[other] = true
	}
	if id := beeos.NewChannelID(); ContextChannel(u, "agent_a", id) != id {
		t.Error("a channel id is not its own context id")
	}
	for name, c := range map[string]struct {
		id  string
		may bool
	}{
		"its context":                  {ContextChannel(app("g1"), "agent_a", "ctx"), true},
		"a new one":                    {newChannelID(app("g1")), true},
		"the person's context":         {first, false},
		"one that the person has made": {beeos.NewChannelID(), false},
		"another app's context":        {ContextChannel(app("g2"), "agent_a", "ctx"), false},
		"one that another app made":    {newChannelID(app("g2")), false},
	} {
		if !isChannelID(c.id) || mayName(app("g1"), c.id) != c.may || !mayName(u, c.id) {
			t.Errorf("an app may name %s (%s): %v", name, c.id, !c.may)
		}
	}
	for _, forged := range []string{`ch-0123456789abcdef","x":"0123456789abcde`, "ch-0000000000000000000000000000000000000", "ch-01A1DD62-f81f-7167-b09f-51929c154df2"} {
		if got := ContextChannel(u, "agent_a", forged); got == forged || !isChannelID(got) {
			t.Errorf("context %q became channel %q", forged, got)
		}
	}
}

// TestAppsKeepToTheirContexts: an app reaches the contexts that it made, and none
// of its person's, however it came to know their ids.
func TestAppsKeepToTheirContexts(t *testing.T) {
	n := lone(t, nil)
	a := anAgent(beeos.DeliverPush)
	n.answer(t, a.ID, func(_ bus.Dispatch, text string) *beeos.Message {
		return &beeos.Message{Type: beeos.AgentReply, Body: text}
	})
	send := func(kind beeos.CredentialKind, context string) (beeos.Message, error) {
		r := aCall(a, "hi")
		r.Caller.Kind, r.Caller.AllAgents, r.ContextID, r.KeepOpen = kind, true, context, true
		return n.Send(t.Context(), *r)
	}
	person, err := send(beeos.ByUserKey, "main")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := send(beeos.ByOAuth, person.Channel); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("the app speaks in the person's context: %+v, %v", m, err)
	}
	for _, context := range []string{"main", ""} {
		first, err := send(beeos.ByOAuth, context)
		if err != nil || first.Channel == person.Channel {
			t.Fatalf("%+v, %v", first, err)
		}
		if again, err := send(beeos.ByOAuth, first.Channel); err != nil || again.Channel != first.Channel {
			t.Errorf("the app does not find its own context %q: %+v, %v", context, again, err)
		}
	}
}
