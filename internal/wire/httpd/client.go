package httpd

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
)

// Proxies are the networks of the proxies in front of us, which the operator has
// named: what they say about where a request comes from is believed.
type Proxies struct {
	Networks []netip.Prefix
	Log      *slog.Logger // hears once of a neighbour that looks like a proxy and is none of these; nil = nobody does

	told atomic.Bool
}

// ClientIP is the address that a request comes from, without a port; "" when
// that cannot be known.
func ClientIP(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip := plainIP(peer.Addr())
	if resp := responseOf(r.Context()); resp != nil && resp.proxies != nil {
		ip = resp.proxies.findClient(ip, r.Header["X-Forwarded-For"])
	}
	return ip.String()
}

// findClient goes back over the hops that a request has taken, from the one that
// brought it to us, as long as each is a proxy of ours: the first that is not is
// the client. What stands in front of that is the client's own invention.
func (p *Proxies) findClient(peer netip.Addr, forwarded []string) netip.Addr {
	if len(forwarded) == 0 {
		return peer
	}
	if !p.trusts(peer) {
		p.noteStranger(peer)
		return peer
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	client := peer
	for i := len(hops) - 1; i >= 0 && p.trusts(client); i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			break
		}
		client = hop
	}
	return client
}

func (p *Proxies) trusts(ip netip.Addr) bool {
	for _, network := range p.Networks {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

// noteStranger tells the operator of a proxy that is not among the settings, once:
// everybody behind it is one address to us.
func (p *Proxies) noteStranger(peer netip.Addr) {
	if p.Log == nil || !peer.IsLoopback() && !peer.IsPrivate() || p.told.Swap(true) {
		return
	}
	p.Log.Warn("a neighbour says in X-Forwarded-For where requests come from, and is not believed; if it is your proxy, add its address to BEEOS_TRUSTED_PROXIES", "neighbour", peer.String())
}

// parseHop reads one hop. Some proxies write a port behind it.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = withPort.Addr()
	}
	return plainIP(ip), true
}

func plainIP(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }
