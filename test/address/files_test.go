//go:build unix

package address

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// TestCertificateFiles: everything is under one host by path, with a certificate
// that is read again when it changes.
func TestCertificateFiles(t *testing.T) {
	const domain = "files.bee.test"
	cfg := serve(t, domain)
	dir := t.TempDir()
	cert, key := ours.issueFiles(t, dir, 100, domain)
	cfg.Cert = cert + "," + key
	app := apptest.Start(t, cfg)
	tour{t, sameURL("https://" + domain), app.UserKey}.whole(app)
	t.Run("hosts", func(t *testing.T) { checkHosts(t, cfg) })
	t.Run("documents", func(t *testing.T) { checkDocuments(t, sameURL("https://"+domain), app) })
	t.Run("cookies", func(t *testing.T) { checkCookies(t, "https://"+domain, app.AgentID) })

	ours.issueFiles(t, dir, 101, domain)
	awaitSerial(t, cfg.Addr[0], domain, 101)
	good, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cert, []byte("half a certif"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(t, cfg.Addr[0], domain); got != 101 {
		t.Errorf("a broken file took the place of a good one: %d", got)
	}
	if err := os.WriteFile(cert, good, 0o600); err != nil {
		t.Fatal(err)
	}
	ours.issueFiles(t, dir, 102, domain)
	awaitSerial(t, cfg.Addr[0], domain, 102)
}

// serial is the number of the certificate that a handshake shows.
func serial(t *testing.T, addr, name string) int64 {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func awaitSerial(t *testing.T, addr, name string, want int64) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); serial(t, addr, name) != want; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("the certificate %d is not served", want)
		}
	}
}

// checkHosts: a public address answers to its names alone; probes know none.
func checkHosts(t *testing.T, cfg config.Config) {
	known := cfg.Domain[0]
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: known}, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for _, tt := range []struct {
		addr, scheme, host, path string
		status                   int
		location                 string
	}{
		{cfg.Addr[0], "https", known, "/signin", 200, ""},
		{cfg.Addr[0], "https", "evil.example", "/signin", 421, ""},
		{cfg.Addr[0], "https", "localhost", "/api/v1/agents", 421, ""},
		{cfg.Addr[0], "https", cfg.Addr[0], "/mcp", 421, ""},
		{cfg.Addr[0], "https", cfg.Addr[0], "/healthz", 200, ""},
		{cfg.Addr[0], "https", "10.0.0.7", "/readyz", 200, ""},
		{cfg.Addr[1], "http", known, "/agents?a=b", 308, "https://" + known + "/agents?a=b"},
		{cfg.Addr[1], "http", "evil.example", "/agents", 421, ""},
		{cfg.Addr[1], "http", "10.0.0.7", "/healthz", 200, ""},
	} {
		if tt.addr == cfg.Addr[1] && tt.scheme == "http" || tt.scheme == "https" {
			r, err := http.NewRequestWithContext(t.Context(), "GET", tt.scheme+"://"+tt.addr+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			res, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != tt.status || res.Header.Get("Location") != tt.location {
				t.Errorf("%s %s%s: %s %s", tt.scheme, tt.host, tt.path, res.Status, res.Header.Get("Location"))
			}
			if tt.scheme == "https" && (res.ProtoMajor != 2 || tt.status == 200 && tt.host == known && res.Header.Get("Strict-Transport-Security") == "") {
				t.Errorf("%s%s: %s %v", tt.host, tt.path, res.Proto, res.Header)
			}
		}
	}
	// Who names no server, like a probe, is shown the certificate; who names
	// another one is not.
	if conn, err := tls.Dial("tcp", cfg.Addr[0], &tls.Config{InsecureSkipVerify: true}); err != nil {
		t.Errorf("a handshake without a name: %v", err)
	} else {
		conn.Close()
	}
}

// checkDocuments: whatever a request says about itself, documents name what the
// operator has set.
func checkDocuments(t *testing.T, at urls, app *apptest.App) {
	base, agentID := at.mcp, app.AgentID
	lie := func(r *http.Request) {
		for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded", "Origin", "Referer"} {
			r.Header.Set(name, "https://evil.example")
		}
	}
	for path, want := range map[string]string{
		"/.well-known/oauth-authorization-server":                   `"issuer":"` + base + `"`,
		"/.well-known/oauth-protected-resource/mcp":                 `"resource":"` + base + `/mcp"`,
		"/.well-known/oauth-protected-resource/" + agentID + "/mcp": `"authorization_servers":["` + base + `"]`,
	} {
		if res, text := look(t, base+path, lie); res.StatusCode != 200 || !strings.Contains(text, want) || strings.Contains(text, "evil") {
			t.Errorf("%s: %s %s", path, res.Status, text)
		}
	}
	res, text := look(t, at.a2a+"/"+agentID+"/.well-known/agent-card.json", func(r *http.Request) {
		lie(r)
		r.Header.Set("Authorization", "Bearer "+app.UserKey)
	})
	var card struct {
		SupportedInterfaces []struct{ URL, ProtocolBinding string }
	}
	if err := json.Unmarshal([]byte(text), &card); err != nil || res.StatusCode != 200 || len(card.SupportedInterfaces) == 0 || strings.Contains(text, "evil") {
		t.Errorf("the card: %s %v %s", res.Status, err, text)
	}
	for _, way := range card.SupportedInterfaces {
		if way.URL != at.a2a+"/"+agentID {
			t.Errorf("the card leads to %s for %s", way.URL, way.ProtocolBinding)
		}
	}
	res, _ = look(t, base+"/mcp", lie)
	if got := res.Header.Get("WWW-Authenticate"); !strings.Contains(got, `resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("the challenge is %s", got)
	}
}

// checkCookies: on one host a browser sends the console's cookies everywhere; they
// open nothing but the console.
func checkCookies(t *testing.T, base, agentID string) {
	for _, path := range []string{"/mcp", "/" + agentID + "/mcp", "/api/v1/agents", "/" + agentID + "/tasks", "/api/v1/agents/connect"} {
		plain, _ := look(t, base+path, nil)
		with, _ := look(t, base+path, func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: "__Host-beeos", Value: strings.Repeat("a", 64)})
			r.AddCookie(&http.Cookie{Name: "__Host-beeos_authz", Value: strings.Repeat("a", 64)})
		})
		if plain.StatusCode != with.StatusCode || plain.StatusCode < 400 || len(with.Cookies()) > 0 {
			t.Errorf("%s: %s without and %s with a cookie", path, plain.Status, with.Status)
		}
	}
}

// TestHostNames: surfaces can have names of their own.
func TestHostNames(t *testing.T) {
	const domain = "names.bee.test"
	hosts := []string{"mcp." + domain, "a2a." + domain, "api." + domain, "agents." + domain, "app." + domain}
	cfg := serve(t, domain, hosts...)
	cert, key := ours.issueFiles(t, t.TempDir(), 200, append(hosts, domain)...)
	cfg.Cert = cert + "," + key
	app := apptest.Start(t, cfg)
	at := urls{"https://app." + domain, "https://mcp." + domain, "https://a2a." + domain, "https://api." + domain, "https://agents." + domain}
	tour{t, at, app.UserKey}.whole(app)
	checkDocuments(t, at, app)
	if res, _ := look(t, "https://"+domain+"/agents", nil); res.StatusCode != 308 || res.Header.Get("Location") != at.web+"/agents" {
		t.Errorf("the domain leads to %s %s", res.Status, res.Header.Get("Location"))
	}
	if res, text := look(t, "https://"+domain+"/mcp", nil); res.StatusCode != 421 || !strings.Contains(text, at.mcp) {
		t.Errorf("%s %s", res.Status, text)
	}
}

// TestCertificateForAnotherName: what clients would refuse is refused at the start.
func TestCertificateForAnotherName(t *testing.T) {
	cfg := serve(t, "other.bee.test")
	cert, key := ours.issueFiles(t, t.TempDir(), 300, "wrong.bee.test")
	cfg.Cert = cert + "," + key
	err := runFor(t, cfg)
	if err == nil || !strings.Contains(err.Error(), "BEEOS_CERT") || !strings.Contains(err.Error(), "other.bee.test") {
		t.Error(err)
	}
	if ln, err := net.Listen("tcp", cfg.Addr[0]); err != nil {
		t.Errorf("the port is not given back: %v", err)
	} else {
		ln.Close()
	}
}
