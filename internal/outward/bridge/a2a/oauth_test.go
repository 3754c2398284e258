package a2a_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
	"github.com/beeos/beeos/test/issuer"
)

// TestClientGetsIntoProtectedPeer: a peer behind the same guard.
func TestClientGetsIntoProtectedPeer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	as := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: bridgetest.Secret}})
	g := &issuer.Guard{Issuer: as}
	p := newOddPeer(t, "", func(w http.ResponseWriter, _ string, _ json.RawMessage) {
		bridgetest.WriteEvents(w, bridgetest.ArtifactChunk("in", false), bridgetest.StatusUpdate("COMPLETED", ""))
	})
	g.Next = p.Config.Handler
	mux := http.NewServeMux()
	mux.Handle("GET /.well-known/agent-card.json", p.Config.Handler)
	mux.Handle("/", g)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	g.URL, p.card = s.URL+"/", strings.ReplaceAll(bridgetest.StreamingCard, "%s", s.URL)
	id := bridgetest.Connect(t, app, &bridgetest.Journal{}, "peer", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: s.URL}).Run(ctx, settings.Bridge{Agent: o, OAuth: account.Client{Named: true, ClientID: "clerk", Secret: bridgetest.Secret, Folder: t.TempDir()}})
	})
	if got, err := client.New(app.REST, app.UserKey).Invoke(t.Context(), id, client.InvokeRequest{Message: "x"}); err != nil || got.Text != "in" {
		t.Errorf("%+v, %v", got, err)
	}
}
