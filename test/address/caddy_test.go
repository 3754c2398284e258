//go:build unix && address

package address

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/ports"
)

// TestCaddy: the file that we hand out makes the real Caddy pass everything.
func TestCaddy(t *testing.T) {
	const domain = "caddy.bee.test"
	path, err := programs("caddy")
	if err != nil {
		t.Fatal(err)
	}
	cfg := serve(t, domain)
	cfg.Cert, cfg.Addr = "off", cfg.Addr[:1]
	server := apptest.Start(t, cfg)
	dir, https := t.TempDir(), ports.Addr(t)
	_, port, _ := strings.Cut(https, ":")
	cert, key := ours.issueFiles(t, dir, 500, domain)
	file := filepath.Join(dir, "Caddyfile")
	write(t, file, "{\n\tadmin off\n\tauto_https disable_redirects\n}\n\n"+
		sample(t, "Caddyfile", "bee.example.com {", "https://"+domain+":"+port+" {\n\tbind 127.0.0.1\n\ttls "+cert+" "+key, "127.0.0.1:8080", cfg.Addr[0]))
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	start(t, path, https, domain, "run", "--config", file, "--adapter", "caddyfile")
	lead(t, domain+":443", https)
	tour{t, sameURL("https://" + domain), server.UserKey}.whole(server)
	checkForwarding(t, "https://"+domain, cfg.Addr[0])
}
