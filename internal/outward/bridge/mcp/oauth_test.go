package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/account"
	bridge "github.com/beeos/beeos/internal/outward/bridge/mcp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
	"github.com/beeos/beeos/test/issuer"
)

// guarded is a real MCP server that lets nobody in without a token of as.
func guarded(t *testing.T, as *issuer.Server) *issuer.Guard {
	t.Helper()
	server := bridgetest.NewMCPServer()
	g := &issuer.Guard{Issuer: as, Next: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
	s := httptest.NewServer(g)
	t.Cleanup(s.Close)
	g.URL = s.URL + "/mcp"
	return g
}

func echoes(t *testing.T, app *apptest.App, id string) {
	t.Helper()
	got, err := client.New(app.REST, app.UserKey).CallTool(t.Context(), &client.Agent{MCPURL: app.MCP + "/" + id + "/mcp"}, "echo", json.RawMessage(`{"text":"x"}`))
	if err != nil || got.Text() != "a\nb" && got.Text() != "ab" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestClientGetsIntoProtectedServer: a server that wants tokens, and a client of its own that
// has a secret. The token is for that server; the file is its user's.
func TestClientGetsIntoProtectedServer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	as := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: bridgetest.Secret}})
	g, folder := guarded(t, as), t.TempDir()
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "tools", func(ctx context.Context, o agent.Options) error {
		return (&bridge.Options{Server: bridgetest.Command(g.URL)}).Run(ctx, settings.Bridge{Agent: o, OAuth: account.Client{
			Named: true, ClientID: "clerk", Secret: bridgetest.Secret, Folder: folder,
		}})
	})
	echoes(t, app, id)
	asked := as.Asked()
	if len(asked) != 1 || asked[0].Form.Get("grant_type") != "client_credentials" || asked[0].Form.Get("resource") != g.URL {
		t.Errorf("%+v", asked)
	}
	onlyMine(t, folder)
}

// onlyMine: there is one file of tokens, which others cannot read.
func onlyMine(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestConsentGetsIntoProtectedServer: without a client the person at the terminal is led to the
// authorization server and back. The next start needs nobody, and a token that
// has expired is renewed.
func TestConsentGetsIntoProtectedServer(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	as := issuer.New(t, nil)
	as.Expires = 1
	g, folder, identity := guarded(t, as), t.TempDir(), filepath.Join(t.TempDir(), "id.json")
	led := 0
	visit := func(address string) {
		led++
		go func() { // ends with the page
			resp, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Request.URL.Host, "127.0.0.1:") {
				t.Errorf("came back to %s: %s", resp.Request.URL.Host, resp.Status)
			}
		}()
	}
	for round, show := range []func(string){visit, nil} {
		var log bridgetest.Journal
		ctx, cancel := context.WithCancel(t.Context())
		id, done := make(chan string, 16), make(chan error, 1)
		go func() { // awaited below
			done <- (&bridge.Options{Server: bridgetest.Command(g.URL)}).Run(ctx, settings.Bridge{
				OAuth: account.Client{Folder: folder, Show: show},
				Agent: agent.Options{Name: "tools", Gateway: app.Agents, Key: app.UserKey, Identity: identity, Log: bridgetest.NewLogger(&log), Connected: func(a string) { id <- a }},
			})
		}()
		select {
		case got := <-id:
			echoes(t, app, got)
		case <-time.After(30 * time.Second):
			t.Errorf("round %d: not there:\n%s", round, log.String())
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		onlyMine(t, folder)
	}
	refreshed := 0
	for _, r := range as.Asked() {
		if r.Form.Get("grant_type") == "refresh_token" {
			refreshed++
		}
		if r.Form.Get("resource") != g.URL {
			t.Errorf("a request without the resource: %v", r.Form)
		}
	}
	if led != 1 || refreshed == 0 || as.Families != 1 {
		t.Errorf("led %d times, refreshed %d times, registered %d times", led, refreshed, as.Families)
	}
}

// TestNobodyThereToConsent: a service cannot ask; it says what to do.
func TestNobodyThereToConsent(t *testing.T) {
	as := issuer.New(t, nil)
	g := guarded(t, as)
	var log bridgetest.Journal
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	server := bridge.Options{Server: bridgetest.Command(g.URL)}
	err := server.Run(ctx, settings.Bridge{OAuth: account.Client{Folder: t.TempDir()}, Agent: agent.Options{Name: "x", Log: bridgetest.NewLogger(&log)}})
	if err != nil || !strings.Contains(log.String(), "run this once in a terminal") {
		t.Errorf("%v\n%s", err, log.String())
	}
	for _, o := range []account.Client{{Secret: bridgetest.Secret}, {ClientID: "a", Secret: bridgetest.Secret, Key: "k"}, {ClientID: "a", Key: "no key"}} {
		err := server.Check(&settings.Bridge{OAuth: o})
		if err == nil || strings.Contains(err.Error(), bridgetest.Secret) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
