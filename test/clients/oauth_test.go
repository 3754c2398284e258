//go:build unix

package clients

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/person"
)

// guarded is a cluster that nobody adds a key for, a person who can sign in
// there, and a place on this computer that an app can be sent back to, where
// its document is as well.
type guarded struct {
	*cluster.Cluster
	somebody *person.Person
	callback string
	document string
}

// TestClientsAuthorize: a stock client meets 401, finds the authorization
// server, registers or shows its document, gets a person's consent and tokens,
// lists and calls, gets new tokens, and is cut off when its grant is revoked.
// Every second request of all this goes to the other server.
func TestClientsAuthorize(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers and PostgreSQL")
	}
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	world := guard(t)
	t.Run("mcp-remote", func(t *testing.T) { world.mcpRemote(t, tools) })
	for _, kind := range []string{"registered", "document"} {
		t.Run("go-sdk, "+kind, func(t *testing.T) { world.goSDK(t, kind) })
		for _, library := range []string{"v1", "v2"} {
			t.Run("typescript "+library+", "+kind, func(t *testing.T) { world.typescript(t, tools, library, kind) })
		}
	}
}

func guard(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{}
	app := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/client.json" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"client_id":%q,"client_name":"A stock client","redirect_uris":[%q]}`, g.document, "http://localhost/callback")
		}
	}))
	t.Cleanup(app.Close)
	back := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(back.Close)
	g.document, g.callback = app.URL+"/client.json", strings.Replace(back.URL, "127.0.0.1", "localhost", 1)+"/callback"
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: app.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := build(t)
	bin.Env = []string{"SSL_CERT_FILE=" + roots, "BEEOS_ALLOW_PRIVATE=true"}
	g.Cluster = start(t, bin)
	g.Balancer.Use("", g.Nodes...)
	g.somebody = &person.Person{Email: cluster.Person, Password: rand.Text(), AgentID: g.AgentID}
	link, err := g.ResetLink(t.Context())
	if err == nil {
		err = g.somebody.Join(t.Context(), link)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *guarded) goSDK(t *testing.T, kind string) {
	cfg := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: g.callback, AcceptUnadvertisedIss: true, Client: http.DefaultClient,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			at, err := g.somebody.Consent(ctx, args.URL)
			if err != nil {
				return nil, err
			}
			q := at.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	}
	if kind == "document" {
		cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: g.document}
	} else {
		cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "go-sdk", RedirectURIs: []string{g.callback}}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: g.URL, OAuthHandler: handler, HTTPClient: &http.Client{Transport: &http.Transport{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	goOn(t, session, "Ada")
}

// typescript runs authorize.mjs, which prints the address to open and then
// what it got.
func (g *guarded) typescript(t *testing.T, tools *npm.Tools, library, kind string) {
	ctx, cancel := context.WithTimeout(t.Context(), talkWithin)
	defer cancel()
	document := ""
	if kind == "document" {
		document = g.document
	}
	cmd := tools.Node(ctx, "authorize.mjs", library, filepath.Join(tools.Dir, "node_modules"), g.URL, g.callback, document)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen, asked := map[string]step{}, 0
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		seen[s.Step] = s
		if s.Step == "authorize" {
			asked++
			at, err := g.somebody.Consent(ctx, s.Text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, at.RawQuery+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, seen["failed"].Error)
	}
	if asked != 1 || seen["call"].Text != "Hello, Ada!" || seen["refreshed"].Text != "Hello, Ada!" || seen["revoked"].Error == "" {
		t.Errorf("asked %d times: %+v", asked, seen)
	}
}

// mcpRemote speaks through mcp-remote, which wants to open a browser.
func (g *guarded) mcpRemote(t *testing.T, tools *npm.Tools) {
	cmd := tools.Node(t.Context(), tools.Module("mcp-remote/dist/proxy.js"), g.URL, "--allow-http", "--transport", "http-only")
	cmd.Env = append(homeless(t, cmd), "BROWSER=true", "DISPLAY=")
	log, words := io.Pipe()
	cmd.Stderr = words
	p := open(t, cmd)
	var group errgroup.Group
	group.Go(func() error {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if _, address, ok := strings.Cut(lines.Text(), g.Balancer.URL+"/oauth/authorize?"); ok {
				if _, err := g.somebody.Consent(t.Context(), g.Balancer.URL+"/oauth/authorize?"+strings.Fields(address)[0]); err != nil {
					return err
				}
				_, err := io.Copy(io.Discard, log)
				return err
			}
		}
		return lines.Err()
	})
	p.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"desktop","version":"1"}}}`)
	if got := p.answer("1"); !strings.Contains(got, `"protocolVersion":"2025-`) {
		t.Errorf("initialize: %s", got)
	}
	p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`)
	if got := p.answer("2"); !strings.Contains(got, "Hello, Ada!") {
		t.Errorf("call: %s", got)
	}
	words.Close()
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
