package a2a_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/a2a"
	"github.com/beeos/beeos/test/enginetest"
)

// TestUnknownKindOfCredentialIsRefused: a credential that is good, of a kind
// that this surface knows nothing of, opens no door.
func TestUnknownKindOfCredentialIsRefused(t *testing.T) {
	ctx := t.Context()
	db, b, l := enginetest.Open(t)
	owner := beeos.User{ID: beeos.NewID(), Email: "a@example.com"}
	if err := db.People.CreateUser(ctx, owner); err != nil {
		t.Fatal(err)
	}
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	inst := beeos.Instance{ID: "inst_1", OwnerID: owner.ID, PublicKey: public, CreatedAt: time.Now()}
	if err := db.Instances.Create(ctx, inst); err != nil {
		t.Fatal(err)
	}
	synced, err := db.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "clerk", Description: "private words"}})
	if err != nil {
		t.Fatal(err)
	}
	id := synced.IDs()["clerk"]
	g, err := a2a.New(a2a.Options{
		Context: ctx, Cluster: db.Cluster, Calls: invoke.New(invoke.Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b}), PublicURL: "http://a2a.test",
		Auth: auth.New(auth.Options{Keys: db.Keys, Instances: db.Instances, People: db.People, Cluster: db.Cluster, Methods: []auth.Method{{
			Prefix: "new_", Surfaces: []auth.Surface{auth.A2A}, Check: func(*http.Request, string, auth.Audience) (beeos.Caller, error) {
				return beeos.Caller{Kind: "new", UserID: owner.ID, CredentialID: "c", AgentID: id, AgentIDs: []string{id}, AllAgents: true}, nil
			},
		}}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "/" + id, `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`},
		{"POST", "/" + id + "/v1/invoke", `{"message":"hi"}`},
		{"POST", "/" + id + "/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`},
		{"GET", "/" + id + "/tasks", ""},
		{"GET", "/" + id + "/.well-known/agent-card.json", ""},
	} {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		r.Header.Set("Authorization", "Bearer new_1")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != http.StatusNotFound && !strings.Contains(body, "there is no such agent") || strings.Contains(body, "private words") {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, w.Code, body)
		}
	}
}
