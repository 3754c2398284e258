package oauth

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestRegistrationRefusesBadRedirects(t *testing.T) {
	r := newRig(t)
	for _, uri := range []string{
		"", "javascript:alert(1)", "JaVaScRiPt://x/%0aalert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:https://x/y", "about:blank",
		"http://evil.example/cb", "http://127.0.0.1.evil.example/cb", "http://localhost.evil.example/cb", "http://127.0.0.1@evil.example/cb",
		"http://127.0.0.2/cb", "http://[::ffff:127.0.0.1]/cb", "http://0x7f.1/cb", "http://127.1/cb", "http://LOCALHOST.:80/cb",
		"https://app.example/cb#x", "https://app.example/cb#", "https://user@app.example/cb", "https://user:pw@app.example/cb",
		"https://app.example\\@evil.example/cb", "https://*.example/cb", "https://app.example/*", "https:///cb", "https:app.example", "//app.example/cb", "/cb", "cb",
		"https://app.example/cb\n", " https://app.example/cb", "https://app.example/ü", "https://%D0%B0pp.example/cb", "https://app.example%E2%80%AE/cb", "https://app.example:0/cb", "https://app.example:99999/cb", "https://app.example:/cb",
		"http://localhost:abc/cb", "ftp://app.example/cb", "ws://localhost/cb", "https://app.example/" + strings.Repeat("a", 2048),
	} {
		status, answer := r.tryRegister(`{"redirect_uris":[` + strconv.Quote(uri) + `]}`)
		if status != http.StatusBadRequest || answer["error"] != "invalid_redirect_uri" {
			t.Errorf("%q: %d %v", uri, status, answer)
		}
	}
	for _, body := range []string{`{}`, `{"redirect_uris":[]}`, `{"redirect_uris":"https://a/b"}`, `{"redirect_uris":[1]}`, `{"redirect_uris":null}`} {
		if status, answer := r.tryRegister(body); status != http.StatusBadRequest || answer["error"] != "invalid_redirect_uri" {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	for _, uri := range []string{"https://app.example/cb", "https://app.example:8443/cb?x=1", "http://localhost/cb", "http://127.0.0.1:1/", "http://[::1]:5173/cb", "cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/cb"} {
		if status, answer := r.tryRegister(`{"redirect_uris":[` + strconv.Quote(uri) + `]}`); status != http.StatusCreated {
			t.Errorf("%q: %d %v", uri, status, answer)
		}
	}
}

// refused reports whether a request ended on a page, with nobody sent anywhere.
func (r *rig) refused(q url.Values) bool {
	w := get(r.s, "/oauth/authorize?"+q.Encode())
	h := w.Header()
	return w.Code == http.StatusBadRequest && h.Get("Location") == "" && h.Get("Set-Cookie") == "" &&
		strings.HasPrefix(h.Get("Content-Type"), "text/html") && strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") && h.Get("Cache-Control") == "no-store"
}

func TestUnregisteredRedirectIsAPage(t *testing.T) {
	r := newRig(t)
	for _, uri := range []string{"", "https://evil.example/cb", "https://app.example/cb/", "https://app.example/cb?x", "https://app.example/CB", "https://app.example/%63b", "https://app.example/x/../cb", "https://APP.example/cb", "javascript:alert(1)"} {
		if !r.refused(r.query("redirect_uri", uri)) {
			t.Errorf("%q was not refused with a page", uri)
		}
	}
	if !r.refused(r.query("client_id", "mcp_client_unknown")) || !r.refused(r.query("client_id", "")) {
		t.Error("an unknown client was not refused with a page")
	}
}

func TestOnlyALoopbackPortIsFree(t *testing.T) {
	r := newRig(t)
	r.client = r.register("http://127.0.0.1:5173/cb", "http://[::1]/six?a=b", "https://app.example/cb")
	for uri, fine := range map[string]bool{
		"http://127.0.0.1:61000/cb": true, "http://127.0.0.1/cb": true, "http://[::1]:9/six?a=b": true,
		"http://127.0.0.1:61000/other": false, "http://localhost:5173/cb": false, "http://[::1]:5173/cb": false, "http://127.0.0.1:61000/cb?x=1": false,
		"http://127.0.0.1:61000/cb?": false, "http://[::1]:9/six": false, "https://127.0.0.1:5173/cb": false, "http://127.0.0.1:0/cb": false,
		"https://app.example:8443/cb": false, "https://app.example/cb": true, "http://127.0.0.1:1@evil.example/cb": false,
	} {
		w := get(r.s, "/oauth/authorize?"+r.query("redirect_uri", uri).Encode())
		if (w.Code == http.StatusFound) != fine || (w.Code == http.StatusBadRequest) == fine {
			t.Errorf("%s: %d", uri, w.Code)
		}
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"redirect_uri", "state", "client_id", "code_challenge", "response_type", "scope"} {
		q := r.query()
		q.Add(name, q.Get(name))
		q.Add(name, "x")
		if !r.refused(q) {
			t.Errorf("%s twice was not refused with a page", name)
		}
	}
}

// FuzzRedirect: whatever is asked for, only the registered place is reached, on
// any port of this computer and on no other.
func FuzzRedirect(f *testing.F) {
	for _, seed := range []string{"http://127.0.0.1:1/cb", "https://app.example/cb", "http://127.0.0.1:1\\@evil/cb", "http://127.0.0.1:80#@evil/cb", "http://127.0.0.1:5173/cb?", "HTTP://127.0.0.1/cb", "//evil/cb", "http://127.0.0.1%2eevil/cb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if matches("https://app.example/cb", uri) && uri != "https://app.example/cb" {
			t.Errorf("%q passes for https", uri)
		}
		if !matches("http://127.0.0.1:5173/cb", uri) {
			return
		}
		rest, ok := strings.CutPrefix(strings.ToLower(uri), "http://127.0.0.1")
		port, path, found := strings.Cut(rest, "/")
		if !ok || !found || path != "cb" || port != "" && (port[0] != ':' || strings.Trim(port[1:], "0123456789") != "") {
			t.Errorf("%q passes for the loopback redirect", uri)
		}
	})
}
