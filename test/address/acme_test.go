//go:build unix && address

package address

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/pgtest"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// livesFor is how long a certificate of the authority is good, in seconds. The
// last third of it is for renewing.
const livesFor = 40

// authorityAt is where pebble is, and where it looks for servers.
var authorityAt struct{ directory, tls, http string }

func init() { moreRoots = startPebble }

// programs is the folder of what make builds out of programs/go.mod.
func programs(name string) (string, error) {
	path := filepath.Join(os.Getenv("BEEOS_TEST_PROGRAMS"), name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is missing; run: make address", name)
	}
	return path, nil
}

// startPebble runs the authority and the name server that it asks, which says that
// every name is on this machine.
func startPebble(dir string) (roots []byte, stop func(), err error) {
	var at [7]string
	for i := range at {
		port, free, err := ports.Reserve()
		if err != nil {
			return nil, nil, err
		}
		defer free()
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	module := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/letsencrypt/pebble/v2")
	module.Dir = "programs"
	source, err := module.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("find pebble's files: %w", err)
	}
	certs := filepath.Join(strings.TrimSpace(string(source)), "test/certs")
	port := func(address string) json.Number { _, p, _ := strings.Cut(address, ":"); return json.Number(p) }
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": at[0], "managementListenAddress": at[1], "certificate": certs + "/localhost/cert.pem", "privateKey": certs + "/localhost/key.pem",
		"tlsPort": port(at[2]), "httpPort": port(at[3]), "retryAfter": map[string]int{"authz": 0, "order": 0},
		"profiles": map[string]any{"default": map[string]any{"description": "short", "validityPeriod": livesFor}},
	}})
	if err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return nil, nil, err
	}
	authorityAt.directory, authorityAt.tls, authorityAt.http = "https://localhost:"+string(port(at[0]))+"/dir", at[2], at[3]
	dns, err1 := programs("pebble-challtestsrv")
	pebble, err2 := programs("pebble")
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	names, err := program.Start("names", os.Environ(), dns, "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-dnsserver", at[4], "-management", at[5])
	if err != nil {
		return nil, nil, err
	}
	authority, err := program.Start("pebble", append(os.Environ(), "PEBBLE_VA_NOSLEEP=1"), pebble, "-config", file, "-dnsserver", at[4])
	if err != nil {
		names.Kill()
		return nil, nil, err
	}
	stop = func() {
		authority.Kill()
		names.Kill()
	}
	own, err := os.ReadFile(filepath.Join(certs, "pebble.minica.pem"))
	if err == nil {
		roots, err = fetchRoot("https://localhost:"+string(port(at[1]))+"/roots/0", own)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("%w\n%s", err, authority.Text())
	}
	return append(own, roots...), stop, nil
}

// fetchRoot asks pebble for what its certificates chain to, once it is there.
func fetchRoot(url string, own []byte) ([]byte, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(own)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; <-tick.C {
		res, err := c.Get(url)
		if err != nil && time.Now().Before(end) {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		return io.ReadAll(res.Body)
	}
}

// order has a server order its certificates from pebble.
func order(cfg *config.Config, https, plain string) {
	cfg.Cert, cfg.ACME.Directory, cfg.ACME.Email = "acme", authorityAt.directory, "ops@example.com"
	if https != "" {
		for _, host := range cfg.Domain {
			names.Store(host+":443", https)
		}
		cfg.Addr[0] = https
	}
	if plain != "" {
		cfg.Addr[1] = plain
	}
}

// TestOrderedCertificates: a server orders its own certificate, everything works
// through it, and while calls go on all the time it is renewed and none fails.
func TestOrderedCertificates(t *testing.T) {
	const domain = "acme.bee.test"
	cfg := serve(t, domain)
	order(&cfg, authorityAt.tls, "")
	cfg.CallTimeout = 10 * time.Minute
	server := apptest.Start(t, cfg)
	first := awaitOrdered(t, cfg.Addr[0], domain)
	w := tour{t, sameURL("https://" + domain), server.UserKey}
	w.whole(server)
	checkHosts(t, cfg)
	t.Run("renewed under load", func(t *testing.T) { w.callThroughRenewal(t, server, cfg.Addr[0], domain) })
	last := awaitOrdered(t, cfg.Addr[0], domain)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"beeos.db", "beeos.db-wal"} {
		text, err := os.ReadFile(filepath.Join(cfg.Data, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "PRIVATE KEY") {
			t.Errorf("%s shows a private key", name)
		}
	}
	t.Logf("certificates %s to %s", first, last)
}

// TestOrderedOverHTTP: where the authority cannot reach the port of HTTPS, that of
// HTTP will do.
func TestOrderedOverHTTP(t *testing.T) {
	const domain = "http.bee.test"
	cfg := serve(t, domain, "mcp."+domain)
	order(&cfg, "", authorityAt.http)
	server := apptest.Start(t, cfg)
	for _, host := range cfg.Domain {
		awaitOrdered(t, cfg.Addr[0], host)
	}
	at := sameURL("https://" + domain)
	at.mcp = "https://mcp." + domain
	checkDocuments(t, at, server)
}

// TestNodesOrderOnce: of two nodes one orders, whichever the authority asks.
func TestNodesOrderOnce(t *testing.T) {
	const domain = "nodes.bee.test"
	cfg := serve(t, domain)
	order(&cfg, authorityAt.tls, authorityAt.http)
	cfg.DatabaseURL, cfg.ClusterAddr = pgtest.URL(t), "127.0.0.1:0"
	other := cfg
	other.Data, other.Addr = t.TempDir(), []string{ports.Addr(t)}
	started := make(chan struct{})
	go func() { // both at once; ends when its node runs
		defer close(started)
		apptest.StartWith(t, other, app.Options{})
	}()
	apptest.Start(t, cfg)
	<-started
	one, two := awaitOrdered(t, cfg.Addr[0], domain), awaitOrdered(t, other.Addr[0], domain)
	if one != two {
		t.Errorf("the nodes have the certificates %s and %s", one, two)
	}
}

// awaitOrdered returns the number of the certificate that a name has, once it has
// one that the system's roots are good for.
func awaitOrdered(t *testing.T, addr, name string) string {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; <-tick.C {
		conn, err := tls.Dial("tcp", addr, &tls.Config{ServerName: name})
		if err == nil {
			defer conn.Close()
			return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no certificate: %v", name, err)
		}
	}
}

// callThroughRenewal calls over connections that are new each time and over one
// that stays, by REST and in a session of MCP, and holds a stream and an agent's
// WebSocket open, from one certificate to the one after the next.
func (w tour) callThroughRenewal(t *testing.T, server *apptest.App, addr, domain string) {
	release := make(chan struct{})
	quiet, connections := w.connectCounted(t, "quiet", func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		select {
		case <-release:
			return r.Send("here I am")
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	var calls, tools atomic.Int64
	var seen sync.Map
	stop := make(chan struct{})
	var load errgroup.Group
	load.Go(func() error { // silent for longer than any one write may take
		var text string
		for ev, err := range client.New(w.at.rest, w.user).Stream(t.Context(), quiet, client.InvokeRequest{Message: "later"}) {
			if err != nil {
				return fmt.Errorf("the silent stream: %w", err)
			}
			if ev.Done != nil {
				text = ev.Done.Text
			}
		}
		if text != "here I am" {
			return fmt.Errorf("the silent stream said %q", text)
		}
		return nil
	})
	for range 2 {
		load.Go(func() error {
			return callUntil(stop, &calls, func() error {
				fresh := transport()
				fresh.DisableKeepAlives = true
				return w.invoke(t, fresh, server.AgentID, &seen)
			})
		})
		kept := transport()
		load.Go(func() error {
			return callUntil(stop, &calls, func() error { return w.invoke(t, kept, server.AgentID, &seen) })
		})
	}
	load.Go(func() error { return w.callTools(t, server.AgentID, stop, &tools) })
	begun, before := time.Now(), awaitOrdered(t, addr, domain)
	renewals := 0
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for renewals < 2 && time.Since(begun) < 3*livesFor*time.Second {
		<-tick.C
		if now := awaitOrdered(t, addr, domain); now != before {
			renewals, before = renewals+1, now
		}
	}
	close(release)
	close(stop)
	if err := load.Wait(); err != nil {
		t.Error(err)
	}
	certificates := 0
	seen.Range(func(any, any) bool { certificates++; return true })
	if renewals < 2 || certificates < 2 {
		t.Errorf("%d renewals, %d certificates seen by calls", renewals, certificates)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("the agent has connected %d times", n)
	}
	if tools.Load() == 0 {
		t.Error("nobody called by MCP")
	}
	t.Logf("%d calls and %d tool calls in %s, %d renewals, none failed", calls.Load(), tools.Load(), time.Since(begun).Round(time.Second), renewals)
}

// callTools is the official Go client, in one session.
func (w tour) callTools(t *testing.T, agentID string, stop <-chan struct{}, calls *atomic.Int64) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "renewal", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: w.at.mcp + "/" + agentID + "/mcp", HTTPClient: &http.Client{Transport: bearer(w.user)}}, nil)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // its calls are what counts
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) == 0 {
		return fmt.Errorf("tools: %+v, %w", list, err)
	}
	return callUntil(stop, calls, func() error {
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: list.Tools[0].Name, Arguments: map[string]any{"message": "hello"}})
		if err != nil {
			return fmt.Errorf("a tool call: %w", err)
		}
		if got := textOf(result); !strings.Contains(got, "you said: hello") {
			return fmt.Errorf("the tool said %q", got)
		}
		return nil
	})
}

func callUntil(stop <-chan struct{}, calls *atomic.Int64, call func() error) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		if err := call(); err != nil {
			return err
		}
		calls.Add(1)
	}
}

// invoke calls the demo agent once, over HTTP/2.
func (w tour) invoke(t *testing.T, over *http.Transport, agentID string, seen *sync.Map) error {
	if over.DisableKeepAlives {
		defer over.CloseIdleConnections()
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.at.rest+"/api/v1/agents/"+agentID+"/invoke", strings.NewReader(`{"message":"hello"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+w.user)
	r.Header.Set("Content-Type", "application/json")
	res, err := over.RoundTrip(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || !strings.Contains(string(text), "you said: hello") || res.ProtoMajor != 2 {
		return fmt.Errorf("%s %s %w %s", res.Proto, res.Status, err, text)
	}
	seen.Store(res.TLS.PeerCertificates[0].SerialNumber.String(), true)
	return nil
}
