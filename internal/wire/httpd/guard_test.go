package httpd

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestLoopbackGuard(t *testing.T) {
	tests := []struct {
		name   string
		host   string
		origin []string
		ok     bool
	}{
		{"localhost", "localhost:8094", nil, true},
		{"no port", "localhost", nil, true},
		{"capitals", "LOCALHOST:1", nil, true},
		{"IPv4", "127.0.0.1:8094", nil, true},
		{"IPv4 elsewhere in 127/8", "127.9.9.9:8094", nil, true},
		{"IPv6", "[::1]:8094", nil, true},
		{"IPv6 without port", "[::1]", nil, true},
		{"own origin", "localhost:8094", []string{"http://localhost:8094"}, true},
		{"another local port", "localhost:8094", []string{"http://127.0.0.1:6274"}, true},
		{"https, IPv6", "localhost:8094", []string{"https://[::1]:3000"}, true},

		{"rebound name", "evil.example:8094", nil, false},
		{"rebound name, own origin", "evil.example", []string{"http://evil.example"}, false},
		{"empty host", "", nil, false},
		{"name that begins well", "localhost.evil.example", nil, false},
		{"address that begins well", "127.0.0.1.evil.example", nil, false},
		{"user info", "localhost@evil.example", nil, false},
		{"another machine", "192.168.1.5:8094", nil, false},
		{"unspecified", "0.0.0.0:8094", nil, false},
		{"foreign origin", "localhost:8094", []string{"https://evil.example"}, false},
		{"null origin", "localhost:8094", []string{"null"}, false},
		{"empty origin", "localhost:8094", []string{""}, false},
		{"origin without scheme", "localhost:8094", []string{"localhost"}, false},
		{"file origin", "localhost:8094", []string{"file://localhost"}, false},
		{"origin that begins well", "localhost:8094", []string{"http://localhost.evil.example"}, false},
		{"second origin is foreign", "localhost:8094", []string{"http://localhost", "http://evil.example"}, false},

		{"public name behind a proxy", "mcp.example.com", []string{"https://app.example.org"}, true},
		{"public name with port", "MCP.example.com:443", nil, true},
		{"part of a public name", "evil-mcp.example.com", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reached := false
			h := &Handler{
				Next:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }),
				Loopback: true,
				Hosts:    []string{"mcp.example.com", "localhost"}, // localhost there must not open the guard
			}
			for _, path := range []string{"/", "/metrics"} {
				r := get(path)
				r.Host = tt.host
				r.Header["Origin"] = tt.origin
				w, _ := serve(h, r)
				if (w.Code == http.StatusForbidden) == tt.ok || reached != tt.ok {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
				if !tt.ok && !strings.Contains(w.Body.String(), `"code":"forbidden"`) {
					t.Errorf("body %s", w.Body)
				}
			}
		})
	}
}

func TestPublicListenerHasNoGuard(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })}
	r := get("/")
	r.Host = "anything.example"
	r.Header.Set("Origin", "https://else.example")
	if w, _ := serve(h, r); w.Code != 204 {
		t.Errorf("%d", w.Code)
	}
}

// A page that sends no referrer sends "null" for its own origin; the browser
// says on another line that it is its own.
func TestLoopbackGuardKnowsItsOwnPages(t *testing.T) {
	for site, ok := range map[string]bool{"same-origin": true, "same-site": false, "cross-site": false, "none": false, "": false} {
		h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), Loopback: true}
		r := get("/")
		r.Host = "localhost:3000"
		r.Header.Set("Origin", "null")
		if site != "" {
			r.Header.Set("Sec-Fetch-Site", site)
		}
		if w, _ := serve(h, r); (w.Code == 204) != ok {
			t.Errorf("Sec-Fetch-Site %q: %d", site, w.Code)
		}
	}
}

// TestAddressesAreText: what no database could look up gets a clear answer
// before a surface sees it.
func TestAddressesAreText(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(ok), Log: slog.New(slog.DiscardHandler)}
	for target, want := range map[string]int{
		"/plain?state=a%20b&x=%C3%A9":            200,
		"/caf%C3%A9":                             200,
		"/x?broken=%zz":                          200, // net/url drops what it cannot read
		"/x?state=a%00b":                         400,
		"/x?scope=%FF":                           400,
		"/x?" + strings.Repeat("a", 100) + "%ff": 400,
		"/agents/%00":                            400,
		"/agents/%c3%28":                         400,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
}
