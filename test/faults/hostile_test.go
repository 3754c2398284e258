//go:build hostile

package faults

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
)

// attacks are what somebody else's server does to whoever asks it something.
// Each goes on until the other side hangs up, unless it says so.
var attacks = map[string]http.HandlerFunc{
	"ten gigabytes": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		pour(w, r, []byte(`"`+strings.Repeat("x", 64<<10)), 10<<30)
	},
	"ten gigabytes of error": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		pour(w, r, []byte(strings.Repeat("x", 64<<10)), 10<<30)
	},
	"one endless event": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		pour(w, r, []byte("data: "+strings.Repeat("x", 64<<10)+"\n"), 10<<30)
	},
	"a line without end": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		pour(w, r, []byte(strings.Repeat("x", 64<<10)), 10<<30)
	},
	"a gzip bomb": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		pour(z, r, make([]byte, 64<<10), 10<<30)
	},
	"a gzip bomb of events": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		pour(z, r, []byte(strings.Repeat("data: {}\n\n", 6400)), 10<<30)
	},
	"a byte a minute": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			if _, err := w.Write([]byte(" ")); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-time.After(time.Minute):
			case <-r.Context().Done():
				return
			}
		}
	},
	"headers without end": func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 200 OK\r\n")
		for range 100 << 20 / 1000 {
			if _, err := fmt.Fprintf(rw, "X-Long: %s\r\n", strings.Repeat("x", 990)); err != nil {
				return
			}
		}
	},
	"redirects in a circle": func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	},
	"a million small events": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 1_000_000 {
			if _, err := io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"); err != nil {
				return
			}
		}
	},
	"silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
}

// pour writes the same again and again until there is enough or nobody reads.
func pour(w io.Writer, r *http.Request, piece []byte, most int64) {
	for ; most > 0 && r.Context().Err() == nil; most -= int64(len(piece)) {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// attacker is a server of somebody else's. /NAME attacks by that name.
type attacker struct {
	*httptest.Server
	mu   sync.Mutex
	left map[string]int // requests that are over, by name
	came map[string]int
}

func newAttacker(t testing.TB) *attacker {
	a := &attacker{left: map[string]int{}, came: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, name, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		attack := attacks[strings.ReplaceAll(name, "-", " ")]
		if name == manners {
			attack = http.NotFound
		}
		if attack == nil {
			http.Error(w, "there is no such attack", http.StatusInternalServerError)
			return
		}
		a.count(a.came, kind+"/"+name)
		defer a.count(a.left, kind+"/"+name)
		io.Copy(io.Discard, r.Body)
		attack(w, r)
	}))
	t.Cleanup(func() { a.CloseClientConnections(); a.Close() })
	return a
}

func (a *attacker) count(in map[string]int, what string) {
	a.mu.Lock()
	in[what]++
	a.mu.Unlock()
}

// address is where an attack waits for one kind of visitor.
func (a *attacker) address(kind, name string) string {
	return a.URL + "/" + kind + "/" + strings.ReplaceAll(name, " ", "-")
}

// TestHostilePeers: skill servers, receivers of webhooks, hosts of client
// documents and A2A agents that send too much, too long, too slowly or in
// circles cost the server no memory to speak of, let go of nothing that hangs,
// and nobody else waits for them.
func TestHostilePeers(t *testing.T) {
	aside(t)
	n := newNode(t, "server", "BEEOS_ALLOW_PRIVATE=true", "LLM_PROVIDER=scripted")
	key, other := n.owner(), n.user("bystander@example.com")
	n.start()
	b := newBystander(t, n, other)
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json"})
	c := newCaller(t, n, a.id, key, 8)
	evil := newAttacker(t)
	ctx, cancel := context.WithTimeout(t.Context(), 16*patience)
	defer cancel()
	visit := func(t *testing.T, skilled map[string]string, names ...string) {
		var visits errgroup.Group
		for _, name := range names {
			visits.Go(func() error {
				return named("webhook", name, visitAsWebhook(ctx, n, a, key, evil.address("webhook", name)))
			})
			visits.Go(func() error { return named("document", name, visitForDocument(ctx, n, evil.address("document", name))) })
			visits.Go(func() error { // it looks at what its skill can do; what it answers is not the point
				client.New(n.rest, key).Invoke(ctx, skilled[name], client.InvokeRequest{Message: "hello"}) //nolint:errcheck // see above
				return nil
			})
		}
		if err := visits.Wait(); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			for _, kind := range []string{"webhook", "document", "skill"} {
				evil.settled(ctx, t, kind+"/"+strings.ReplaceAll(name, " ", "-"))
			}
		}
	}
	suffer := func(names ...string) {
		all := strings.Join(names, ", ")
		t.Run(all, func(t *testing.T) {
			skilled := map[string]string{}
			for _, name := range append(names, manners) {
				skilled[name] = deploySkilled(ctx, t, n, key, evil.address("skill", name), name)
			}
			polite := slices.Repeat([]string{manners}, len(names))
			b.sufferMore(t, all, func() { evenly(ctx, func() { visit(t, skilled, polite...) }) }, func() { evenly(ctx, func() { visit(t, skilled, names...) }) })
		})
	}
	for name := range attacks {
		if !slices.Contains(slow, name) {
			suffer(name)
		}
	}
	suffer(slow...)
	if _, err := c.invoke(ctx, "still there?"); err != nil {
		t.Error(err)
	}
}

// manners is no attack. What others wait for while a server behaves, which is also
// visited, is not what an attack costs them.
const manners = "manners"

// visitEvery is between two visits, whatever became of those before: how often it
// is visited is not for the visited to say.
const visitEvery = 250 * time.Millisecond

// evenly visits once, or for as long as it is measured.
func evenly(ctx context.Context, visit func()) {
	var visits sync.WaitGroup
	defer visits.Wait()
	visits.Go(visit)
	for begun := time.Now(); strict && time.Since(begun) < calmFor && pause(ctx, visitEvery); {
		visits.Go(visit)
	}
}

// slow are the attacks by waiting, which may go on side by side.
var slow = []string{"silence", "a byte a minute", "a million small events"}

// settled waits until the server has hung up on every visit of one kind.
func (a *attacker) settled(ctx context.Context, t testing.TB, what string) {
	t.Helper()
	for {
		a.mu.Lock()
		came, left := a.came[what], a.left[what]
		a.mu.Unlock()
		if came > 0 && came == left {
			return
		}
		if !pause(ctx, 50*time.Millisecond) {
			t.Errorf("%s: %d requests came, %d are over", what, came, left)
			return
		}
	}
}

// visitAsWebhook has the server tell an address about a task.
func visitAsWebhook(ctx context.Context, n *node, a *agentProcess, key, address string) error {
	cl := client.New(n.rest, key)
	task, err := cl.CreateTask(ctx, a.id, client.TaskRequest{Message: "hello"})
	if err != nil {
		return err
	}
	_, err = cl.AddWebhook(ctx, a.id, task.ID, client.WebhookRequest{URL: address})
	return err
}

// visitForDocument has the server look an OAuth client up.
func visitForDocument(ctx context.Context, n *node, address string) error {
	q := url.Values{
		"client_id": {address}, "redirect_uri": {"http://127.0.0.1:9/callback"}, "response_type": {"code"},
		"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "state": {"s"},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.mcp+"/oauth/authorize?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 || resp.StatusCode < 400 {
		return fmt.Errorf("the answer is %s", resp.Status)
	}
	return nil
}

// deploySkilled deploys an agent with a skill behind the address.
func deploySkilled(ctx context.Context, t testing.TB, n *node, key, address, name string) (agentID string) {
	t.Helper()
	server, err := json.Marshal(map[string]string{"url": address})
	if err != nil {
		t.Fatal(err)
	}
	cl := client.New(n.rest, key)
	name = "clerk-" + strings.ReplaceAll(name, " ", "-")
	if _, err = cl.Deploy(ctx, client.Deployment{Name: name, Prompt: "Be brief.", Servers: map[string]json.RawMessage{"files": server}}, false); err != nil {
		t.Fatal(err)
	}
	for {
		if a, err := cl.Find(ctx, name); err == nil && a.Online {
			return a.ID
		}
		if !pause(ctx, 50*time.Millisecond) {
			t.Fatalf("%s does not come online", name)
		}
	}
}
