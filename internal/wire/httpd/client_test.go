package httpd

import (
	"net/http/httptest"
	"testing"
)

func TestClientIPTrustsNeighboursAlone(t *testing.T) {
	for _, tt := range []struct {
		peer string
		hops []string
		want string
	}{
		{"192.0.2.1:5", nil, "192.0.2.1"},
		{"192.0.2.1:5", []string{"198.51.100.7"}, "192.0.2.1"}, // a stranger says it
		{"127.0.0.1:5", nil, "127.0.0.1"},
		{"127.0.0.1:5", []string{"198.51.100.7"}, "198.51.100.7"},
		{"10.0.0.2:5", []string{"1.1.1.1, 198.51.100.7"}, "198.51.100.7"},
		{"[::1]:5", []string{"1.1.1.1", "2001:db8::1"}, "2001:db8::1"},
		{"127.0.0.1:5", []string{"unknown"}, "127.0.0.1"},
		{"[::ffff:192.0.2.1]:5", nil, "192.0.2.1"},
		{"@", nil, ""},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header["X-Forwarded-For"] = tt.hops
		if got := ClientIP(r); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.peer, tt.hops, got, tt.want)
		}
	}
}
