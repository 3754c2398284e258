//go:build release && linux

package deploy

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/program"
)

// tryPages walks the console of the program that is shipped,
// which is compiled otherwise than that of all other tests (tools/release/slim.go).
// A method that a page needs and that was left out would show here.
func tryPages(t *testing.T, beeos string) {
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=/usr/bin:/bin", "NO_COLOR=1", "BEEOS_DATA=" + filepath.Join(home, "data")}
	for _, name := range []string{"MCP_ADDR", "A2A_ADDR", "OPENAPI_ADDR", "AGENT_GATEWAY_ADDR", "WEB_ADDR", "BEEOS_ADDR"} {
		env = append(env, name+"=127.0.0.1:0")
	}
	p, err := program.Start("beeos dev", env, beeos, "dev")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	link := awaitLink(t, p)
	for _, command := range [][]string{{"call", "echo", "hello"}, {"tasks", "create", "echo", "later"}, {"keys", "create", "--name", "more"}, {"usage"}, {"conversations", "list", "echo"}, {"agent", "list"}} {
		run(t, home, env, beeos, command...)
	}
	v := visitor{t: t, host: link.Scheme + "://" + link.Host, seen: map[string]bool{}}
	v.cookies = v.join(link)
	// A page of each thing that the first ones link to, and all of the manual.
	v.follow("/")
	for _, path := range []string{"/tasks", "/calls", "/usage", "/budgets", "/keys", "/users", "/audit", "/account", "/system", "/approvals", "/help", "/marketplace", "/connect/go"} {
		v.follow(path)
	}
	if len(v.seen) < 80 {
		t.Errorf("only %d pages: %v", len(v.seen), v.seen)
	}
	t.Logf("%d pages", len(v.seen))
	if said := p.Text(); strings.Contains(said, "template") || strings.Contains(said, "can't evaluate") {
		t.Error(said)
	}
}

// awaitLink is the address at which the first person makes an account.
func awaitLink(t *testing.T, p *program.Process) *url.URL {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); ; {
		if found := regexp.MustCompile(`http://\S+/welcome\?token=\S+`).FindString(p.Text()); found != "" && strings.Contains(p.Text(), "Ctrl-C") {
			link, err := url.Parse(found)
			if err != nil {
				t.Fatal(err)
			}
			return link
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no link:\n%s", p.Text())
		}
	}
}

// visitor goes through all pages of a host.
type visitor struct {
	t       *testing.T
	host    string
	cookies []*http.Cookie
	seen    map[string]bool
}

// join makes the account.
func (v *visitor) join(link *url.URL) []*http.Cookie {
	v.t.Helper()
	form := url.Values{"token": {link.Query().Get("token")}, "name": {"Ada"}, "email": {"ada@example.com"}, "password": {"a long password"}}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.host+"/welcome", strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) == 0 {
		v.t.Fatalf("%s %v", resp.Status, resp.Cookies())
	}
	return resp.Cookies()
}

var href = regexp.MustCompile(`href="(/[^"#]*)`)

// follow opens a page and all that it links to.
func (v *visitor) follow(path string) {
	if v.seen[path] {
		return
	}
	v.seen[path] = true
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.host+path, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode >= 400 {
		v.t.Errorf("%s: %s %v\n%s", path, resp.Status, err, text)
	}
	if to, err := resp.Location(); err == nil && to.Path == "/signin" {
		v.t.Errorf("%s wants to know who is there", path)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") && !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
		v.t.Errorf("%s ends early:\n%s", path, text)
	}
	for _, m := range href.FindAllStringSubmatch(string(text), -1) {
		v.follow(html.UnescapeString(m[1]))
	}
}

// shippedProgram is the program out of an archive.
func shippedProgram(t *testing.T, out string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bin")
	if said, err := install(t, "INSTALL_FROM="+out, "INSTALL_DIR="+dir); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	path := filepath.Join(dir, "beeos")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	return path
}
