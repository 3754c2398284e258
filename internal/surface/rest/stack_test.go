package rest_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/task"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/rest"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// stack is the real thing behind the surface; only the agent's process is
// played by the test, straight on bus and ledger.
type stack struct {
	t         *testing.T
	url       string
	bare      http.Handler // what is at url, without the contract's eyes on it
	db        *store.Store
	ledger    *ledger.Ledger
	bus       *bus.Bus
	approvals *approval.Approvals
	calls     *invoke.Calls
	files     *files.Files
	hooks     *webhook.Hooks
	folder    string       // where the bytes of files are
	ahead     atomic.Int64 // how far the surface's clock is, in nanoseconds
	users     *signin.People

	builtins *builtin.Supervisor
	acts     *act.Acts

	user     string // owner of the agents
	key      string // the owner's user key
	other    string // user key of somebody else
	instance string // declares the agents
	agent    string // online; answers as play says
	offline  string // nobody serves it

	mu      sync.Mutex
	changed []string
	revoked []string
}

// newKind is a kind of credential that the surfaces know nothing of. It says
// that it is the owner's.
func (s *stack) newKind() auth.Method {
	return auth.Method{Prefix: "new_", Surfaces: []auth.Surface{auth.REST}, Check: func(*http.Request, string, auth.Audience) (beeos.Caller, error) {
		return beeos.Caller{Kind: "new", UserID: s.user, CredentialID: "c", AgentID: s.agent, AgentIDs: []string{s.agent}, AllAgents: true}, nil
	}}
}

func start(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t}
	var err error
	ctx := t.Context()
	if s.db, err = store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "test.db")+"?durability=os"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	if s.bus, err = bus.Open(ctx, bus.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.bus.Close)
	if s.ledger, err = ledger.Open(ctx, s.db.DB, ledger.Options{Committed: invoke.Committed(s.bus)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.ledger.Close)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	srv := httptest.NewUnstartedServer(nil)
	s.openFiles("http://"+srv.Listener.Addr().String(), log)
	s.calls = invoke.New(invoke.Options{Agents: s.db.Agents, Approvals: s.db.Approvals, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Files: s.files, Log: log, RateLimit: 1000, Budgets: budget.New(budget.Options{Table: s.db.Budgets, Log: log})})
	s.hooks, err = webhook.New(ctx, webhook.Options{
		Webhooks: s.db.Webhooks, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Log: log, Now: s.now, Status: task.StatusOf, AllowPrivate: true, Every: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	run, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.calls.Run(run) }) //nolint:errcheck // it ends with run
	running.Go(func() { s.hooks.Run(run) }) //nolint:errcheck // likewise
	t.Cleanup(func() { stop(); running.Wait() })

	tokens, err := oauth.New(ctx, oauth.Options{Grants: s.db.Grants, Keys: s.db.Keys, Agents: s.db.Agents, Trail: s.db.Audit, Cluster: s.db.Cluster, Issuer: "http://mcp.test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	s.users = &signin.People{Table: s.db.People, Audit: s.db.Audit, EndTokens: tokens.EndUserTokens}
	s.approvals = approval.New(approval.Options{Table: s.db.Approvals, Agents: s.db.Agents, Tools: s.db.Builtins, People: s.db.People, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Log: log, Now: s.now, Web: "http://console.test"})
	s.builtins, err = builtin.New(ctx, builtin.Options{ // nobody runs them: what it is about here is what is said about them
		Agents: s.db.Agents, Builtins: s.db.Builtins, Cluster: s.db.Cluster, Gateway: "http://127.0.0.1:9", Folder: t.TempDir(), HTTP: outbound.Transport(outbound.Options{}), Console: "http://console.test", Log: log, Now: s.now,
		Model: listed{"small", "large"}, Commands: map[string][]string{"sqlite": {"mcp-sqlite"}}, Assertions: map[string]builtin.Assertion{"pod": {File: "/nowhere", For: []string{"https://as.example"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	notifier, err := notify.New(ctx, notify.Options{
		Table: s.db.Notifications, Approvals: s.approvals, Agents: s.db.Agents, People: s.db.People, Keys: s.db.Keys, Cluster: s.db.Cluster, Bus: s.bus, Log: log, Now: s.now, AllowPrivate: true,
		REST: "http://" + srv.Listener.Addr().String(), Slack: "http://127.0.0.1:9", Telegram: "http://127.0.0.1:9",
	})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { notifier.Run(run) }) //nolint:errcheck // it ends with run
	callers := auth.New(auth.Options{Keys: s.db.Keys, Instances: s.db.Instances, People: s.db.People, Cluster: s.db.Cluster, Methods: append(tokens.Methods(), s.newKind())})
	s.acts = act.New(act.Options{
		DB: s.db, Ledger: s.ledger, Bus: s.bus, Invoke: s.calls, Approvals: s.approvals, Hooks: s.hooks, Notify: notifier, People: s.users, OAuth: tokens, Builtins: s.builtins, Log: log, Now: s.now,
	})
	surface := rest.New(rest.Options{
		DB: s.db, Ledger: s.ledger, Bus: s.bus, Calls: s.calls, Approvals: s.approvals, Files: s.files, Hooks: s.hooks, Now: s.now, Auth: callers,
		People: s.users, OAuth: tokens, Acts: s.acts, MCPURL: "http://mcp.test/",
	})
	t.Cleanup(s.bus.OnControl(func(c bus.Control) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch c.Kind {
		case bus.AgentChanged:
			s.changed = append(s.changed, c.AgentID)
		case bus.KeyRevoked:
			s.revoked = append(s.revoked, c.ID)
			callers.Forget(c.ID)
		case bus.KeyChanged:
			callers.Forget(c.ID)
		}
	}))
	s.bare = &httpd.Handler{Next: surface, Log: log}
	srv.Config.Handler = &httpd.Handler{Next: theContract().watch(t, surface), Log: log, Loopback: true}
	srv.Start()
	t.Cleanup(srv.Close)
	s.url = srv.URL
	s.people(ctx)
	return s
}

func (s *stack) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *stack) openFiles(base string, log *slog.Logger) {
	s.t.Helper()
	s.folder = filepath.Join(s.t.TempDir(), "files")
	disk, err := blob.OpenDisk(s.folder)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { disk.Close() })
	s.files = &files.Files{Table: s.db.Files, Blobs: disk, Links: &blob.Signer{Key: blob.NewKey(), Base: base}, Log: log, Now: s.now}
}

// people registers two users with keys, and the agents of the first.
func (s *stack) people(ctx context.Context) {
	s.t.Helper()
	s.user = beeos.NewID()
	s.key = s.newUser(ctx, s.user)
	s.other = s.newUser(ctx, beeos.NewID())
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	inst := beeos.Instance{ID: beeos.NewID(), OwnerID: s.user, Name: "test", PublicKey: public}
	if err := s.db.Instances.Create(ctx, inst); err != nil {
		s.t.Fatal(err)
	}
	s.instance = inst.ID
	ids := s.sync(
		beeos.Definition{Name: "echo", Description: "Says it again.", Skills: []beeos.Skill{{Name: "say", InputSchema: json.RawMessage(`{"type":"object"}`)}}},
		beeos.Definition{Name: "asleep"},
	)
	s.agent, s.offline = ids["echo"], ids["asleep"]
}

// sync declares the instance's agents.
func (s *stack) sync(defs ...beeos.Definition) (ids map[string]string) {
	s.t.Helper()
	inst, err := s.db.Instances.Get(s.t.Context(), s.instance)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := s.db.Agents.Sync(s.t.Context(), inst, defs)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, id := range res.IDs() {
		s.calls.Forget(id) // as the agent gateway sees to
	}
	return res.IDs()
}

func (s *stack) newUser(ctx context.Context, id string) (key string) {
	s.t.Helper()
	if err := s.db.People.CreateUser(ctx, beeos.User{ID: id, Email: id + "@test", Name: id}); err != nil {
		s.t.Fatal(err)
	}
	secret, hash, prefix := auth.NewKey(beeos.UserKey)
	k := beeos.Key{ID: beeos.NewID(), Kind: beeos.UserKey, OwnerID: id, Name: "test", Prefix: prefix}
	if err := s.db.Keys.Create(ctx, k, hash); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// play serves the agent: what answer returns becomes the reply to a message;
// a nil reply leaves the turn open.
func (s *stack) play(answer func(f beeos.Frame) *beeos.Message) {
	s.t.Helper()
	var wg sync.WaitGroup
	stop, err := s.bus.Serve(s.agent, func(d bus.Dispatch) bool {
		wg.Go(func() {
			var f beeos.Frame
			if err := json.Unmarshal(d.Frame, &f); err != nil {
				s.t.Errorf("frame: %v", err)
				return
			}
			m := answer(f)
			if m == nil {
				return
			}
			m.Channel, m.InReplyTo, m.Publisher = f.ChannelID, f.MessageID, "agent:"+f.AgentID
			if _, err := s.ledger.Finish(context.Background(), *m); err != nil {
				s.t.Errorf("finish: %v", err)
			}
		})
		return true
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { stop(); wg.Wait() })
}

// echo answers every message with its own text.
func (s *stack) echo() {
	s.play(func(f beeos.Frame) *beeos.Message {
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "you said: " + f.Body}
	})
}

// delta streams a piece of the answer to f.
func (s *stack) delta(f beeos.Frame, seq int64, text string) {
	s.bus.Publish(beeos.Event{Kind: beeos.EventDelta, Channel: f.ChannelID, Turn: f.MessageID, Attempt: f.Attempt, Seq: seq, Text: text})
}

// answer is one HTTP answer, decoded.
type answer struct {
	status int
	header http.Header
	data   json.RawMessage
	total  int
	code   string
	kind   string
	text   string
	raw    string
}

func (s *stack) do(method, path, key, body string, header ...string) answer {
	s.t.Helper()
	resp := s.send(method, path, key, body, header...)
	defer resp.Body.Close()
	return s.read(method, path, resp)
}

// deaf takes work and does nothing with it.
func deaf(bus.Dispatch) bool { return true }

func (s *stack) read(method, path string, resp *http.Response) answer {
	s.t.Helper()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var env struct {
		Success bool
		Data    json.RawMessage
		Total   int
		Error   *struct{ Type, Code, Message string }
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	if len(raw) == 0 {
		return a
	}
	if err := json.Unmarshal(raw, &env); err != nil {
		s.t.Fatalf("%s %s: %s is not JSON: %v", method, path, raw, err)
	}
	if env.Success != (resp.StatusCode < 300) {
		s.t.Errorf("%s %s: success is %v with status %d", method, path, env.Success, resp.StatusCode)
	}
	a.data, a.total = env.Data, env.Total
	if env.Error != nil {
		a.kind, a.code, a.text = env.Error.Type, env.Error.Code, env.Error.Message
	}
	return a
}

func (s *stack) send(method, path, key, body string, header ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// ok does what must succeed and decodes its data.
func ok[T any](s *stack, method, path, body string) T {
	s.t.Helper()
	a := s.do(method, path, s.key, body)
	if a.status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.raw)
	}
	var v T
	if len(a.data) > 0 {
		if err := json.NewDecoder(bytes.NewReader(a.data)).Decode(&v); err != nil {
			s.t.Fatalf("%s %s: %s: %v", method, path, a.data, err)
		}
	}
	return v
}
