//go:build unix

package address

import (
	"context"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// runFor runs a server that is not to start, and returns why it did not.
func runFor(t *testing.T, cfg config.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return app.Run(ctx, cfg, app.Options{Ready: func(app.Info) { cancel() }})
}

// TestDevAtOneAddress: in beeos dev everything is at the console's port, too.
func TestDevAtOneAddress(t *testing.T) {
	dev := apptest.Start(t, apptest.Config(t))
	w := tour{t, sameURL(dev.Web), dev.UserKey}
	w.whole(dev)
	// There are two addresses and one issuer; the resource is that of the client.
	for base, resource := range map[string]string{dev.Web: dev.Web, dev.MCP: dev.MCP} {
		_, text := look(t, base+"/.well-known/oauth-protected-resource/mcp", nil)
		if !strings.Contains(text, `"resource":"`+resource+`/mcp"`) || !strings.Contains(text, `"authorization_servers":["`+dev.MCP+`"]`) {
			t.Errorf("%s: %s", base, text)
		}
	}
	tour{t, urls{dev.Web, dev.MCP, dev.A2A, dev.REST, dev.Agents}, dev.UserKey}.looksAround(t)
}

// TestTunnel: a tunnel to the console's port shows all of it by its own name, while
// this machine goes on without it.
func TestTunnel(t *testing.T) {
	const domain = "tunnel.bee.test"
	cfg := apptest.Config(t)
	cfg.Domain = []string{domain}
	for _, s := range []*config.Surface{&cfg.MCP.Surface, &cfg.A2A, &cfg.REST, &cfg.Agents, &cfg.Web} {
		s.PublicURL = "https://" + domain
	}
	dev := apptest.Start(t, cfg)
	for _, local := range []string{dev.Web, dev.MCP, dev.A2A, dev.REST, dev.Agents} {
		if !strings.HasPrefix(local, "http://localhost:") {
			t.Errorf("%s is not on this machine", local)
		}
	}
	if dev.Public != "https://"+domain {
		t.Errorf("the tunnel is %q", dev.Public)
	}
	proxy := startNginx(t, domain, strings.TrimPrefix(dev.Web, "http://localhost:"))
	lead(t, domain+":443", proxy)
	tour{t, sameURL("https://" + domain), dev.UserKey}.whole(dev)
	for base, resource := range map[string]string{"https://" + domain: "https://" + domain, dev.Web: dev.Web, dev.MCP: dev.MCP} {
		_, text := look(t, base+"/.well-known/oauth-protected-resource/mcp", nil)
		if !strings.Contains(text, `"resource":"`+resource+`/mcp"`) || !strings.Contains(text, `"authorization_servers":["https://`+domain+`"]`) {
			t.Errorf("%s: %s", base, text)
		}
	}
}
