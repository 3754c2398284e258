package web

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/test/enginetest"
)

const (
	testPassword = "honey in the morning"
	testRedirect = "http://127.0.0.1:7777/callback"

	sessionCookie = "__Host-beeos"
)

// stack is a console on a fresh database, with the authorization server it
// asks for behind an address of its own.
type stack struct {
	t      *testing.T
	db     *store.Store
	ledger *ledger.Ledger
	bus    *bus.Bus
	calls  *invoke.Calls
	kept   *files.Files
	desk   *approval.Approvals
	people *signin.People
	oauth  *oauth.Server
	site   *Surface
	web    string
	mcp    string
	online map[string]bool
}

func newStack(t *testing.T) *stack {
	t.Helper()
	ctx := context.Background()
	db, b, l := enginetest.Open(t)
	k := &stack{t: t, db: db, ledger: l, bus: b, online: map[string]bool{}}
	k.calls = invoke.New(invoke.Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b, Files: k.files(), RateLimit: 1e6})
	k.run(k.calls.Run)
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	k.people = &signin.People{Table: db.People, Audit: db.Audit}

	var mcp http.Handler
	mcpServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mcp.ServeHTTP(w, r) }))
	t.Cleanup(mcpServer.Close)
	webServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { k.site.ServeHTTP(w, r) }))
	t.Cleanup(webServer.Close)
	k.mcp, k.web = mcpServer.URL, webServer.URL
	var err error
	if k.oauth, err = oauth.New(ctx, oauth.Options{Grants: db.Grants, Keys: db.Keys, Agents: db.Agents, Trail: db.Audit, Cluster: db.Cluster, Issuer: k.mcp, ConsoleURL: k.web, Log: log}); err != nil {
		t.Fatal(err)
	}
	mcp = k.oauth
	k.desk = approval.New(approval.Options{Table: db.Approvals, Agents: db.Agents, Tools: db.Builtins, People: db.People, Cluster: db.Cluster, Ledger: l, Bus: b, Web: k.web})
	hooks, err := webhook.New(ctx, webhook.Options{Webhooks: db.Webhooks, Cluster: db.Cluster, Ledger: l, Bus: b, Status: task.StatusOf})
	if err != nil {
		t.Fatal(err)
	}
	notifier, err := notify.New(ctx, notify.Options{Table: db.Notifications, Approvals: k.desk, Agents: db.Agents, People: db.People, Keys: db.Keys, Cluster: db.Cluster, Bus: b, AllowPrivate: true, Slack: "http://127.0.0.1:9", Telegram: "http://127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	k.run(notifier.Run)
	k.site, err = New(Options{
		Acts:   act.New(act.Options{DB: db, Ledger: l, Bus: b, Invoke: k.calls, Approvals: k.desk, Hooks: hooks, Notify: notifier, People: k.people, OAuth: k.oauth, Log: log}),
		Agents: db.Agents, Builtins: db.Builtins, Users: db.People, ApprovalTable: db.Approvals, Trail: db.Audit, Ledger: l, Bus: b, Approvals: k.desk, Calls: k.calls, Files: k.files(), People: k.people, OAuth: k.oauth, Log: log,
		PublicURL: k.web, MCPURL: k.mcp, RESTURL: "http://rest.example",
		Online: func(_ context.Context, id string) bool { return k.online[id] },
	})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// trust lets people sign in through an outside provider, too.
func (k *stack) trust(provider signin.OIDCOptions) {
	k.t.Helper()
	opt := k.site.Options
	opt.OIDC = signin.NewOIDC(provider)
	var err error
	if k.site, err = New(opt); err != nil {
		k.t.Fatal(err)
	}
}

// run runs a service until the test ends.
func (k *stack) run(service func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service(ctx) }() // awaited at the end
	k.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			k.t.Error(err)
		}
	})
}

// files keeps what is attached in a folder that goes away.
func (k *stack) files() *files.Files {
	k.t.Helper()
	if k.kept == nil {
		disk, err := blob.OpenDisk(k.t.TempDir())
		if err != nil {
			k.t.Fatal(err)
		}
		k.kept = &files.Files{Table: k.db.Files, Blobs: disk, Links: &blob.Signer{Key: []byte("key"), Base: "http://rest.example"}, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	}
	return k.kept
}

// user makes a person who can sign in.
func (k *stack) user(name string, admin bool) beeos.User {
	k.t.Helper()
	hash, err := signin.HashPassword(k.t.Context(), testPassword)
	if err != nil {
		k.t.Fatal(err)
	}
	u := beeos.User{ID: beeos.NewID(), Email: strings.ToLower(name) + "@example.com", Name: name, PasswordHash: hash, Admin: admin, CreatedAt: time.Now()}
	if err := k.db.People.CreateUser(k.t.Context(), u); err != nil {
		k.t.Fatal(err)
	}
	return u
}

// agents makes n agents of a person, each open to MCP.
func (k *stack) agents(u beeos.User, n int) []*beeos.Agent {
	k.t.Helper()
	instance := beeos.Instance{ID: beeos.NewID(), OwnerID: u.ID, Name: "test", PublicKey: []byte(strings.Repeat("k", 32)), CreatedAt: time.Now()}
	if err := k.db.Instances.Create(k.t.Context(), instance); err != nil {
		k.t.Fatal(err)
	}
	var definitions []beeos.Definition
	for i := range n {
		definitions = append(definitions, beeos.Definition{
			Name: fmt.Sprintf("agent-%d", i), DisplayName: fmt.Sprintf("Agent %d", i), Description: "Answers questions about the weather in places.",
			DeliveryMode: beeos.DeliverPush,
			Skills:       []beeos.Skill{{Name: "forecast", Description: "Tomorrow's weather."}},
		})
	}
	if _, err := k.db.Agents.Sync(k.t.Context(), instance, definitions); err != nil {
		k.t.Fatal(err)
	}
	list, _, err := k.db.Agents.List(k.t.Context(), agents.Filter{OwnerID: u.ID, Limit: 1000})
	if err != nil {
		k.t.Fatal(err)
	}
	yes := true
	for i, a := range list {
		if list[i], err = k.db.Agents.Update(k.t.Context(), a.ID, agents.Patch{MCPEnabled: &yes}); err != nil {
			k.t.Fatal(err)
		}
	}
	return list
}

// browser keeps cookies as a browser on this machine does, Secure ones over
// plain http too, and follows no redirect.
type browser struct {
	k       *stack
	cookies map[string]map[string]string // by host
}

func (k *stack) browser() *browser { return &browser{k, map[string]map[string]string{}} }

// signedIn is a browser in which a person is.
func (k *stack) signedIn(u beeos.User) *browser {
	k.t.Helper()
	b := k.browser()
	if res := b.post("/signin", url.Values{"email": {u.Email}, "password": {testPassword}, "next": {"/"}}); res.status != http.StatusSeeOther {
		k.t.Fatalf("signing in gave %d: %s", res.status, res.body)
	}
	return b
}

type answer struct {
	status int
	header http.Header
	body   string
}

// location is where a redirect leads.
func (a answer) location() string { return a.header.Get("Location") }

func (b *browser) get(target string) answer { return b.do(http.MethodGet, target, nil, nil) }

func (b *browser) post(target string, form url.Values) answer {
	return b.do(http.MethodPost, target, form, http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {b.k.web}})
}

func (b *browser) do(method, target string, form url.Values, header http.Header) answer {
	t := b.k.t
	t.Helper()
	if strings.HasPrefix(target, "/") {
		target = b.k.web + target
	}
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	jar := b.cookies[req.URL.Host]
	if jar == nil {
		jar = map[string]string{}
		b.cookies[req.URL.Host] = jar
	}
	for name, value := range jar {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(jar, c.Name)
		} else {
			jar[c.Name] = c.Value
		}
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// register makes an OAuth client of that name and returns its id.
func (k *stack) register(name string) string {
	k.t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{testRedirect}, "logo_uri": "https://logo.example/x.png"})
	if err != nil {
		k.t.Fatal(err)
	}
	res, err := http.Post(k.mcp+"/oauth/register", "application/json", strings.NewReader(string(body)))
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	var client struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&client); err != nil || client.ID == "" {
		k.t.Fatalf("registering %q gave %d, %v", name, res.StatusCode, err)
	}
	return client.ID
}

// authorize begins a flow for an agent and returns the console's address that
// the browser is sent to.
func (b *browser) authorize(client, agentID string) string {
	b.k.t.Helper()
	q := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {testRedirect}, "state": {"st"},
		"code_challenge": {strings.Repeat("A", 43)}, "code_challenge_method": {"S256"},
	}
	if agentID != "" {
		q.Set("resource", b.k.mcp+"/"+agentID+"/mcp")
	}
	res := b.get(b.k.mcp + "/oauth/authorize?" + q.Encode())
	if res.status != http.StatusFound || !strings.HasPrefix(res.location(), b.k.web+"/mcp-login?return_to=") {
		b.k.t.Fatalf("authorize gave %d to %q: %s", res.status, res.location(), res.body)
	}
	return res.location()
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form returns the hidden fields of a page's form.
func form(body, id string) url.Values {
	if i := strings.Index(body, `id="`+id+`"`); i >= 0 {
		body = body[i:]
	}
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(body, -1) {
		values.Set(m[1], html.UnescapeString(m[2]))
	}
	return values
}

var continues = regexp.MustCompile(`id="continue"[^>]* href="([^"]*)"`)

// continueURL is where the page after a consent leads.
func continueURL(t *testing.T, a answer) string {
	t.Helper()
	m := continues.FindStringSubmatch(a.body)
	if m == nil {
		t.Fatalf("no way on in %d: %s", a.status, a.body)
	}
	return html.UnescapeString(m[1])
}
