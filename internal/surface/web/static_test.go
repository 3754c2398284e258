package web

import (
	"crypto/sha256"
	"fmt"
	"net/http"
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
		data, err := staticFiles.ReadFile("static/" + name)
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || got != want {
			t.Errorf("%s has checksum %s, want %s (%v)", name, got, want, err)
		}
	}
}

func TestOurFilesStaySmall(t *testing.T) {
	for name, most := range map[string]int{"app.css": 600, "skills.css": 150, "app.js": 150} {
		data, err := staticFiles.ReadFile("static/" + name)
		if n := strings.Count(string(data), "\n"); err != nil || n > most {
			t.Errorf("%s has %d lines, the limit is %d (%v)", name, n, most, err)
		}
	}
}

func TestStaticFilesAreKeptByBrowsers(t *testing.T) {
	k := newStack(t)
	b := k.browser()
	for name := range k.site.files {
		res := b.get(k.site.files.url(name))
		if res.status != http.StatusOK || !strings.Contains(res.header.Get("Cache-Control"), "immutable") || res.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", name, res.status, res.header)
		}
		if strings.HasSuffix(name, ".js") && !strings.HasPrefix(res.header.Get("Content-Type"), "text/javascript") {
			t.Errorf("%s is %s", name, res.header.Get("Content-Type"))
		}
	}
	if res := b.get("/static/0000/app.css"); res.status != http.StatusNotFound {
		t.Errorf("an old version's address gave %d", res.status)
	}
}
