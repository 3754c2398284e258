package oauth

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// limiter lets each address do something a few times in a while. It knows this
// replica alone: what it protects has a limit in the database as well.
type limiter struct {
	most int
	per  time.Duration
	now  func() time.Time

	mu   sync.Mutex
	free map[string]time.Time // address -> when it has its whole allowance again
}

const limiterMost = 10_000 // addresses that are remembered

// take counts one more, or says when to come back.
func (l *limiter) take(address string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, step := l.now(), l.per/time.Duration(l.most)
	at := l.free[address]
	if at.Before(now) {
		at = now
	}
	if wait := at.Add(step).Sub(now) - l.per; wait > 0 {
		err := beeos.Errorf(beeos.RateLimited, "too many requests from this address; try again in a minute")
		err.RetryAfter = wait
		return err
	}
	if l.free == nil || len(l.free) >= limiterMost {
		l.makeRoom(now)
	}
	l.free[address] = at.Add(step)
	return nil
}

// makeRoom forgets those who have been quiet; when nobody has, all.
func (l *limiter) makeRoom(now time.Time) {
	kept := map[string]time.Time{}
	for address, at := range l.free {
		if at.After(now) && len(l.free) < 2*limiterMost {
			kept[address] = at
		}
	}
	if len(kept) >= limiterMost {
		clear(kept)
	}
	l.free = kept
}

// address is where a request comes from. A proxy on this machine is believed
// about the peer that it saw, and nobody else. Of an IPv6 address the network
// counts, since one customer has all of it.
func address(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := peer.Addr().Unmap()
	if hops := r.Header["X-Forwarded-For"]; ip.IsLoopback() && len(hops) > 0 {
		last := hops[len(hops)-1]
		if seen, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
			ip = seen.Unmap()
		}
	}
	if ip.Is6() {
		if network, err := ip.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
