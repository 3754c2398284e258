package httpd

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientIP is the address that a request comes from, without a port; "" when
// that cannot be known. A neighbour on a loopback or private address is most
// likely a reverse proxy, so the last hop that it names counts. Who can reach
// us from a private network can thus pretend to be anybody: an address is
// good for slowing down and for showing, not for trust.
func ClientIP(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := peer.Addr().Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsPrivate() {
		hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
		if hop, err := netip.ParseAddr(strings.TrimSpace(hops[len(hops)-1])); err == nil {
			ip = hop.Unmap().WithZone("")
		}
	}
	return ip.String()
}
