//go:build unix

package signin

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
)

// TestReplicas: two servers on one database, with nothing sticky before them.
// The client is sent to one and gets its token at the other, calls either, and
// goes on while the signing key is changed.
func TestReplicas(t *testing.T) {
	r := newReplicas(t)
	w := &world{App: r.nodes[0], clock: &clock{}}
	w.connect(t)
	open(t).SignUp(w.Setup)
	c := newGoClient(t, w, "Gopher", "")
	endpoint := w.endpoint(w.weather)
	person := open(t)
	connected := make(chan error, 1)
	go func() { connected <- c.connect(t.Context(), endpoint) }() // awaited below
	select {
	case address := <-c.opened():
		person.consents(address, "Gopher", w.weather)
	case err := <-connected:
		t.Fatalf("it did not ask for a person: %v", err)
	}
	if err := <-connected; err != nil {
		t.Fatalf("connect: %v\nthe person sees %s", err, person.Sees())
	}
	if first, second := r.served("/oauth/authorize"), r.served("/oauth/token"); first != 0 || second != 1 {
		t.Errorf("authorize at server %d, token at server %d", first, second)
	}
	for range 4 { // two calls at each
		if got, err := c.call(t.Context(), w.weather, "tomorrow?"); err != nil || got != "sunny" {
			t.Errorf("call: %q, %v", got, err)
		}
	}

	old := c.token()
	r.rotate(t)
	r.replace(t, 1) // the one at which tokens are given
	w.clock.pass(hour)
	fresh := c.token()
	if keyOf(t, fresh) == keyOf(t, old) {
		t.Error("a token after the change is signed with the old key")
	}
	for node := range r.nodes {
		for name, token := range map[string]string{"old": old, "new": fresh} {
			r.use(node)
			if got := ask(t, endpoint, token); got.status != http.StatusOK {
				t.Errorf("the %s token at server %d: %+v", name, node, got)
			}
		}
	}
	r.use(0, 1)

	// Disconnected at one console, it is cut at both servers.
	person.disconnects(r.nodes[0].Web, "Gopher")
	cut := time.Now()
	for node := range r.nodes {
		r.use(node)
		for ask(t, endpoint, fresh).status == http.StatusOK {
			if time.Since(cut) > 5*time.Second {
				t.Fatalf("server %d still serves it %v after it was disconnected", node, time.Since(cut))
			}
		}
	}
}

// replicas are servers on one database behind a round robin.
type replicas struct {
	cfg   config.Config
	nodes []*apptest.App

	mu     sync.Mutex
	mcp    []string // where the servers listen
	web    []string
	in     []int // which of them are used
	next   int
	lastAt map[string]int // path -> which served it last
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{cfg: apptest.Config(t), in: []int{0, 1}, lastAt: map[string]int{}, mcp: make([]string, 2), web: make([]string, 2)}
	r.cfg.DatabaseURL, r.cfg.ClusterAddr = pgtest.URL(t), "127.0.0.1:0"
	for _, front := range []struct {
		public *string
		nodes  []string
	}{{&r.cfg.MCP.PublicURL, r.mcp}, {&r.cfg.Web.PublicURL, r.web}} {
		proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: r.pick(p.In.URL.Path, front.nodes)})
			p.Out.Host = p.In.Host
		}})
		t.Cleanup(proxy.Close)
		*front.public = strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1)
	}
	r.nodes = make([]*apptest.App, 2)
	r.start(t, 1)
	r.start(t, 0) // last, so that its first-run link counts: it has the demo
	return r
}

// start runs one of them: the proxies must know where, and not its callers.
func (r *replicas) start(t *testing.T, i int) {
	t.Helper()
	cfg := r.cfg
	cfg.Data = t.TempDir()
	mcp, web := ports.Addr(t), ports.Addr(t)
	cfg.MCP.Addr, cfg.Web.Addr = mcp, web
	r.nodes[i] = apptest.StartWith(t, cfg, app.Options{Demo: i == 0})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mcp[i], r.web[i] = mcp, web
}

// replace stops one and starts another in its place.
func (r *replicas) replace(t *testing.T, i int) {
	t.Helper()
	if err := r.nodes[i].Stop(); err != nil {
		t.Fatal(err)
	}
	r.start(t, i)
}

// rotate changes the signing key as an operator does.
func (r *replicas) rotate(t *testing.T) {
	t.Helper()
	dir, err := app.OpenDirectory(t.Context(), r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.RotateKey(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// use sends what comes from now on to these.
func (r *replicas) use(nodes ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in = nodes
}

// pick says who serves a request: the next one, but for the two paths that are
// to be apart.
func (r *replicas) pick(path string, nodes []string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	node := r.in[r.next%len(r.in)]
	switch path {
	case "/oauth/authorize":
		node = 0
	case "/oauth/token":
		node = 1
	}
	r.lastAt[path] = node
	return nodes[node]
}

func (r *replicas) served(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	node, ok := r.lastAt[path]
	if !ok {
		return -1
	}
	return node
}

// keyOf is the id of the key that a token is signed with.
func keyOf(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	var header struct{ Kid string }
	b, err := io.ReadAll(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(head)))
	if err == nil {
		err = json.Unmarshal(b, &header)
	}
	if err != nil || header.Kid == "" {
		t.Fatalf("%q is no token: %v", token, err)
	}
	return header.Kid
}
