//go:build release && linux

package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/program"
)

const walkPage = "docs/how-to/first-address.md"

// walk types a page into a machine on which nothing is installed, and whose network
// has a certificate authority in it and nobody else.
type walk struct {
	*machine
	blocks  []string
	exports string // what has been exported in the terminal
	began   time.Time
	steps   []string
}

// tryNewcomer follows the page from nothing to a production address, block by block,
// with what is shipped. Only the authority is another one, pebble instead of Let's
// Encrypt.
func tryNewcomer(t *testing.T, out string) {
	needRoot(t)
	folder := t.TempDir()
	run(t, ".", nil, "cp", "-r", out, filepath.Join(folder, "artifacts"))
	w := &walk{machine: newMachine(t, folder, "--net")}
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(read(t, walkPage), -1) {
		w.blocks = append(w.blocks, m[1])
	}
	if len(w.blocks) != 7 {
		t.Fatalf("%s has %d blocks; this test types 7", walkPage, len(w.blocks))
	}
	w.run("ip link set lo up; echo 127.0.0.1 bee.example.com >> /etc/hosts; ! command -v beeos")
	startAuthority(t, w.machine, folder)
	w.began = time.Now()

	w.run("cd /root; " + strings.ReplaceAll(w.blocks[0], "/path/to/artifacts", "/mnt/artifacts"))
	w.step("install")
	w.start("server", "export ACME_DIRECTORY=https://localhost:14000/dir; ", w.blocks[1])
	w.until("curl -sf https://bee.example.com/readyz", "ok")
	w.step("serve, with a certificate")
	link := w.run("cd /root; " + w.blocks[2])
	w.joins(link)
	w.step("first account")
	key := w.run("cd /root; " + w.blocks[3] + `echo "$BEEOS_KEY"`)
	key = key[strings.LastIndex(key, "\n")+1:]
	w.exports = strings.SplitAfter(w.blocks[3], "\n")[0] + "export BEEOS_KEY=" + key + "\n"
	w.step("key")
	w.start("agent", w.exports, w.blocks[4])
	w.until(w.exports+w.blocks[5], "hello from here")
	w.step("agent connected, and its first answer")
	if said := w.run(w.exports + w.blocks[6]); !strings.Contains(said, `"tools"`) {
		t.Errorf("MCP says %s", said)
	}
	w.step("tools by MCP")
	if said := w.run("curl -s -o /dev/null -w '%{http_code} %{redirect_url}' http://bee.example.com/help"); said != "308 https://bee.example.com/help" {
		t.Errorf("http leads to %q", said)
	}
	t.Logf("from nothing to an address:\n%s", strings.Join(w.steps, "\n"))
}

// step notes how long the walk has taken.
func (w *walk) step(what string) {
	w.steps = append(w.steps, fmt.Sprintf("%5.1f s  %s", time.Since(w.began).Seconds(), what))
}

var goesOn = regexp.MustCompile(`(?m)^beeos (serve|connect) `)

// start types a block that goes on until the test ends. Its last command takes the
// place of the shell, so that nothing is left when that is killed.
func (w *walk) start(name, before, block string) {
	w.t.Helper()
	if !goesOn.MatchString(block) {
		w.t.Fatalf("this block is not known to go on:\n%s", block)
	}
	p, err := program.Start(name, os.Environ(), "nsenter", append(w.enter, "sh", "-euc", "cd /root; "+before+goesOn.ReplaceAllString(block, "exec beeos $1 "))...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		p.Kill()
		if w.t.Failed() {
			w.t.Logf("%s\n%s", name, p.Text())
		}
	})
}

// until types a block again and again until it says something.
func (w *walk) until(block, text string) {
	w.t.Helper()
	for end := time.Now().Add(patience); ; {
		out, err := exec.CommandContext(w.t.Context(), "nsenter", append(w.enter, "sh", "-euc", "cd /root; "+block)...).CombinedOutput()
		if err == nil && strings.Contains(string(out), text) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s: %v\n%s", block, err, out)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatal(w.t.Context().Err())
		}
	}
}

// joins opens the link and fills in the form.
func (w *walk) joins(link string) {
	w.t.Helper()
	at, token, found := strings.Cut(link, "?token=")
	if at != "https://bee.example.com/welcome" || !found {
		w.t.Fatalf("the link is %q", link)
	}
	said := w.run("curl -s -o /dev/null -w '%{http_code}' '" + link + "'; curl -s -o /dev/null -w ' %{http_code} %{redirect_url}' '" + at +
		"' -d 'name=Ada&email=you@example.com&password=a+long+password&token=" + token + "'")
	if !strings.HasPrefix(said, "200 303 https://bee.example.com/") {
		w.t.Fatalf("the first account: %s", said)
	}
}

// startAuthority runs pebble, which make builds, in the machine, and has the machine
// trust it, as it trusts those that everybody knows.
func startAuthority(t *testing.T, m *machine, folder string) {
	t.Helper()
	for _, name := range []string{"pebble", "pebble-challtestsrv"} {
		path := filepath.Join(os.Getenv("BEEOS_TEST_PROGRAMS"), name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%s is missing; run: make packages", name)
		}
		run(t, ".", nil, "cp", path, folder)
	}
	source := strings.TrimSpace(run(t, filepath.Join(root, "test/address/programs"), nil, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/letsencrypt/pebble/v2"))
	run(t, ".", nil, "cp", "-r", filepath.Join(source, "test/certs"), filepath.Join(folder, "certs"))
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "/mnt/certs/localhost/cert.pem", "privateKey": "/mnt/certs/localhost/key.pem",
		"tlsPort": 443, "httpPort": 80, "retryAfter": map[string]int{"authz": 0, "order": 0},
		"profiles": map[string]any{"default": map[string]any{"description": "as usual", "validityPeriod": 90 * 24 * 3600}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "pebble.json"), settings, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"names":  "exec /mnt/pebble-challtestsrv -defaultIPv4 127.0.0.1 -defaultIPv6 '' -http01 '' -https01 '' -tlsalpn01 '' -doh '' -dnsserver 127.0.0.1:8053 -management 127.0.0.1:8055",
		"pebble": "export PEBBLE_VA_NOSLEEP=1; exec /mnt/pebble -config /mnt/pebble.json -dnsserver 127.0.0.1:8053",
	} {
		p, err := program.Start(name, os.Environ(), "nsenter", append(m.enter, "sh", "-euc", command)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
	}
	trust := &walk{machine: m}
	trust.until("curl -sf --cacert /mnt/certs/pebble.minica.pem https://localhost:15000/roots/0 > /tmp/root.pem; cat /tmp/root.pem", "BEGIN CERTIFICATE")
	m.run("cat /mnt/certs/pebble.minica.pem /tmp/root.pem >> /etc/ssl/certs/ca-certificates.crt")
}
