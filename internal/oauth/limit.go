package oauth

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
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

// address is where a request comes from, for counting: of an IPv6 address the
// network, since one customer has all of it.
func address(r *http.Request) string {
	from := httpd.ClientIP(r)
	if ip, err := netip.ParseAddr(from); err == nil && ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return from
}
