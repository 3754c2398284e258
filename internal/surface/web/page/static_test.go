package page

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestVendoredFilesAreTheOriginals: these come from npm's htmx.org 4.0.0 and
// are not edited here.
func TestVendoredFilesAreTheOriginals(t *testing.T) {
	for name, want := range map[string]string{
		"vendor/htmx.min.js":   "e484d9171a9db30a39c8f16e3d709d4137f3211c659f8e6125816635033d593f",
		"vendor/hx-sse.min.js": "8a834680c4000a9034d79228872372a92e140c810a075cb6d4a76690dfc13085",
	} {
		data, err := staticFolder.ReadFile("static/" + name)
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || got != want {
			t.Errorf("%s has checksum %s, want %s (%v)", name, got, want, err)
		}
	}
}

func TestOurFilesStaySmall(t *testing.T) {
	for name, most := range map[string]int{"app.css": 600, "skills.css": 150, "calls.css": 100, "chart.css": 100, "app.js": 150} {
		data, err := staticFolder.ReadFile("static/" + name)
		if n := strings.Count(string(data), "\n"); err != nil || n > most {
			t.Errorf("%s has %d lines, the limit is %d (%v)", name, n, most, err)
		}
	}
}

func TestStaticFilesAreKeptByBrowsers(t *testing.T) {
	s, err := New(Options{PublicURL: "http://console.example"})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	for name := range s.static {
		res := get(s.static.url(name))
		if res.Code != http.StatusOK || !strings.Contains(res.Header().Get("Cache-Control"), "immutable") || res.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", name, res.Code, res.Header())
		}
		if strings.HasSuffix(name, ".js") && !strings.HasPrefix(res.Header().Get("Content-Type"), "text/javascript") {
			t.Errorf("%s is %s", name, res.Header().Get("Content-Type"))
		}
	}
	if res := get("/static/0000/app.css"); res.Code != http.StatusNotFound {
		t.Errorf("an old version's address gave %d", res.Code)
	}
}
