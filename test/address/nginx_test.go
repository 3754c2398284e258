//go:build unix

package address

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

// TestNginx: the file that we hand out makes the real nginx pass everything, and
// nobody behind it can pretend to come from elsewhere.
func TestNginx(t *testing.T) {
	const domain = "nginx.bee.test"
	cfg := serve(t, domain)
	cfg.Cert, cfg.Addr = "off", cfg.Addr[:1]
	server := apptest.Start(t, cfg)
	proxy := startNginx(t, domain, cfg.Addr[0][strings.LastIndex(cfg.Addr[0], ":")+1:])
	lead(t, domain+":443", proxy)
	w := tour{t, sameURL("https://" + domain), server.UserKey}
	w.whole(server)
	checkForwarding(t, "https://"+domain, cfg.Addr[0])
}

// startNginx runs nginx with deploy/proxy/nginx.conf in front of a port, and
// returns where it takes HTTPS.
func startNginx(t *testing.T, domain, port string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Fatal("nginx is missing; install it with: make setup")
		}
	}
	dir := t.TempDir()
	cert, key := ours.issueFiles(t, dir, 400, domain)
	https, plain := ports.Addr(t), ports.Addr(t)
	text := sample(t, "nginx.conf", "127.0.0.1:8080", "127.0.0.1:"+port, "listen 80;", "listen "+plain+";", "listen 443 ssl", "listen "+https+" ssl",
		"bee.example.com;", domain+";", "/etc/ssl/bee.example.com/fullchain.pem", cert, "/etc/ssl/bee.example.com/privkey.pem", key)
	write(t, filepath.Join(dir, "beeos.conf"), text)
	write(t, filepath.Join(dir, "nginx.conf"), fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
    include %[1]s/beeos.conf;
}
`, dir))
	start(t, path, https, domain, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	return https
}

// sample is a file of deploy/proxy with what an operator changes in it.
func sample(t *testing.T, name string, changes ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/proxy", name))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("%s has no %q", name, changes[i])
		}
	}
	return strings.NewReplacer(changes...).Replace(string(text))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start runs a proxy until the test ends, and returns when it listens.
func start(t *testing.T, path, listens, name string, args ...string) {
	t.Helper()
	p, err := program.Start(filepath.Base(path), os.Environ(), path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Terminate(10 * time.Second) //nolint:errcheck // it is killed then
		if t.Failed() {
			t.Log(p.Text())
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(within); ; {
		conn, err := tls.Dial("tcp", listens, &tls.Config{InsecureSkipVerify: true, ServerName: name})
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-p.Ended():
			t.Fatalf("%s ended:\n%s", path, p.Text())
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen (%v):\n%s", path, err, p.Text())
		}
	}
}

// checkForwarding: whoever tries keys is one address, whatever they say about
// where they come from; and whoever comes past the proxy needs the right name.
func checkForwarding(t *testing.T, base, direct string) {
	t.Helper()
	const most = 1000 // far more than one address may try in the time that it takes
	last := 0
	for i := 0; i < most && last != http.StatusTooManyRequests; i++ {
		res, _ := look(t, base+"/api/v1/agents", func(r *http.Request) {
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("6.6.%d.%d, 127.0.0.1", i/200, i%200))
			r.Header.Set("Authorization", fmt.Sprintf("Bearer oag_%064d", i))
		})
		last = res.StatusCode
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("%d keys from one place are let try: %d", most, last)
	}
	for host, status := range map[string]int{strings.TrimPrefix(base, "https://"): 200, "evil.example": 421, "localhost": 421} {
		if res, _ := look(t, "http://"+direct+"/signin", func(r *http.Request) { r.Host = host }); res.StatusCode != status {
			t.Errorf("past the proxy as %s: %s, want %d", host, res.Status, status)
		}
	}
}
