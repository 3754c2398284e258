package httpd

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestClientIPBelievesOurProxiesAlone: what clients invent about themselves counts
// for nothing, whoever brings it.
func TestClientIPBelievesOurProxiesAlone(t *testing.T) {
	ours := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, tt := range []struct {
		name string
		peer string
		hops []string
		want string
	}{
		{"no proxy", "192.0.2.1:5", nil, "192.0.2.1"},
		{"a stranger says it", "192.0.2.1:5", []string{"198.51.100.7"}, "192.0.2.1"},
		{"a private stranger says it", "192.168.0.9:5", []string{"198.51.100.7"}, "192.168.0.9"},
		{"another loopback stranger", "[::1]:5", []string{"198.51.100.7"}, "::1"},
		{"our proxy says nothing", "127.0.0.1:5", nil, "127.0.0.1"},
		{"our proxy says it", "127.0.0.1:5", []string{"198.51.100.7"}, "198.51.100.7"},
		{"the client has invented a hop", "10.0.0.2:5", []string{"1.1.1.1, 198.51.100.7"}, "198.51.100.7"},
		{"the client has invented a proxy of ours", "10.0.0.2:5", []string{"10.0.0.3, 198.51.100.7"}, "198.51.100.7"},
		{"the client has invented a line", "127.0.0.1:5", []string{"1.1.1.1", "2001:db8::1"}, "2001:db8::1"},
		{"two proxies of ours", "127.0.0.1:5", []string{"198.51.100.7, 10.1.2.3"}, "198.51.100.7"},
		{"three, on two lines", "127.0.0.1:5", []string{"6.6.6.6, 198.51.100.7", "10.1.2.3, 2001:db8:1::5"}, "198.51.100.7"},
		{"a client beside our proxies", "127.0.0.1:5", []string{"10.9.9.9"}, "10.9.9.9"},
		{"all of them are ours", "127.0.0.1:5", []string{"10.0.0.1, 10.0.0.2"}, "10.0.0.1"},
		{"what cannot be read ends it", "127.0.0.1:5", []string{"198.51.100.7, unknown"}, "127.0.0.1"},
		{"what cannot be read further on", "127.0.0.1:5", []string{"unknown, 10.0.0.2"}, "10.0.0.2"},
		{"with a port", "127.0.0.1:5", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"with brackets", "127.0.0.1:5", []string{"[2001:db8::7]:4711"}, "2001:db8::7"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.2]:5", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"no address", "@", []string{"198.51.100.7"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.peer
			r.Header["X-Forwarded-For"] = tt.hops
			got := "nobody asked"
			h := &Handler{
				Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = ClientIP(r) }), Log: slog.New(slog.DiscardHandler),
				Proxies: &Proxies{Networks: ours},
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestUnknownProxyIsToldOnce: an operator who forgot the setting finds out.
func TestUnknownProxyIsToldOnce(t *testing.T) {
	var log strings.Builder
	p := &Proxies{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		for _, peer := range []string{"192.0.2.1", "127.0.0.1"} {
			p.findClient(netip.MustParseAddr(peer), []string{"198.51.100.7"})
		}
	}
	if strings.Count(log.String(), "BEEOS_TRUSTED_PROXIES") != 1 || !strings.Contains(log.String(), "neighbour=127.0.0.1") {
		t.Error(log.String())
	}
}
