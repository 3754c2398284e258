package web

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestChatKeepsTheChosenModel: what is said on the page goes to the model that
// was chosen for the conversation.
func TestChatKeepsTheChosenModel(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	instance := beeos.Instance{ID: beeos.NewID(), OwnerID: ann.ID, Name: "test", PublicKey: []byte(strings.Repeat("k", 32))}
	if err := k.db.Instances.Create(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	definition := beeos.Definition{Name: "chooser", DeliveryMode: beeos.DeliverPush, Capabilities: []byte(`{"modelsSet":true}`)}
	synced, err := k.db.Agents.Sync(t.Context(), instance, []beeos.Definition{definition})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := k.db.Agents.Get(t.Context(), synced.Created[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	p := k.puppet(agent)
	b := k.signedIn(ann)
	here := b.begins(agent, "hello")
	if f := p.turn(); strings.Contains(string(f.Payload), `"model"`) {
		t.Errorf("before a choice the agent hears %s", f.Payload)
	}
	if err := k.ledger.SetModel(t.Context(), path.Base(here), "m1"); err != nil {
		t.Fatal(err)
	}
	if res := b.post(here, url.Values{"message": {"which?"}, "key": {"page"}}); res.status != http.StatusSeeOther {
		t.Fatalf("said: %d %s", res.status, res.body)
	}
	if f := p.turn(); !strings.Contains(string(f.Payload), `"model":"m1"`) {
		t.Errorf("after it the agent hears %s", f.Payload)
	}
}
