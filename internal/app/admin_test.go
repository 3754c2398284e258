package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/ports"
)

func fetchPage(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestMetricsStayOffPublicPorts: numbers and profiles are for the operator, on
// a listener of the operator's own; health is for everybody.
func TestMetricsStayOffPublicPorts(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.AdminAddr = "127.0.0.1:0"
	a := apptest.Start(t, cfg)
	for name, url := range map[string]string{"web": a.Web, "mcp": a.MCP, "a2a": a.A2A, "rest": a.REST, "agents": a.Agents} {
		for page, want := range map[string]bool{"/healthz": true, "/readyz": true, "/metrics": false, "/debug/pprof/": false, "/debug/pprof/heap": false} {
			status, body := fetchPage(t, url+page)
			if (status == http.StatusOK && !strings.Contains(body, "<form")) != want || strings.Contains(body, "go_goroutines") {
				t.Errorf("%s%s: %d %.100s", name, page, status, body)
			}
		}
	}
	for page, want := range map[string]string{
		"/metrics": "go_goroutines", "/healthz": "ok", "/readyz": "ok", "/debug/pprof/": "goroutine", "/debug/pprof/heap?debug=1": "heap profile",
	} {
		if status, body := fetchPage(t, a.Admin+page); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("admin%s: %d %.100s", page, status, body)
		}
	}
	if status, body := fetchPage(t, a.Admin+"/api/v1/agents"); status != http.StatusNotFound || !strings.Contains(body, "/metrics") {
		t.Errorf("another page: %d %s", status, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("a rebound name: %v, %v", resp, err)
	}
}

// TestProfilesNeedLoopback: a monitor on another machine may be let at the
// numbers, but nobody there at what the memory holds.
func TestProfilesNeedLoopback(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.AdminAddr = strings.Replace(ports.Addr(t), "127.0.0.1", "0.0.0.0", 1)
	a := apptest.Start(t, cfg)
	if status, _ := fetchPage(t, a.Admin+"/metrics"); status != http.StatusOK {
		t.Errorf("metrics: %d", status)
	}
	if status, body := fetchPage(t, a.Admin+"/debug/pprof/heap"); status != http.StatusNotFound {
		t.Errorf("profile: %d %.100s", status, body)
	}
}

// TestTwoServersOnOneMachine: nobody has to give the second one's admin
// listener an address.
func TestTwoServersOnOneMachine(t *testing.T) {
	withDefault := func() config.Config {
		mine, cfg := config.Default(true), apptest.Config(t)
		for from, to := range map[*config.Surface]*config.Surface{
			&cfg.MCP.Surface: &mine.MCP.Surface, &cfg.A2A: &mine.A2A, &cfg.REST: &mine.REST, &cfg.Agents: &mine.Agents, &cfg.Web: &mine.Web,
		} {
			*to = *from
		}
		mine.Data, mine.Durability = cfg.Data, cfg.Durability
		return mine
	}
	a, b := apptest.Start(t, withDefault()), apptest.Start(t, withDefault())
	if a.Admin == "" || b.Admin == "" || a.Admin == b.Admin {
		t.Fatalf("admin listeners %q and %q", a.Admin, b.Admin)
	}
	for _, url := range []string{a.Admin, b.Admin} {
		if status, _ := fetchPage(t, url+"/metrics"); status != http.StatusOK {
			t.Errorf("%s: %d", url, status)
		}
	}
	chosen := apptest.Config(t)
	chosen.AdminAddr = strings.Replace(b.Admin, "http://localhost", "127.0.0.1", 1)
	if err := app.Run(t.Context(), chosen, app.Options{}); err == nil || !strings.Contains(err.Error(), "BEEOS_ADMIN_ADDR") {
		t.Errorf("an address that was chosen and is taken: %v", err)
	}
}
