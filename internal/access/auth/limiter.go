package auth

import (
	"net/netip"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// Limiter lets each address do something a few times in a while. It knows this
// replica alone, and is for what is safe without it.
type Limiter struct {
	Most int
	Per  time.Duration
	Now  func() time.Time

	mu   sync.Mutex
	free map[string]time.Time // address -> when it has its whole allowance again
}

const limiterMost = 10_000 // addresses that are remembered

// Take counts one more from an address, or says when to come back.
func (l *Limiter) Take(address string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, step := l.Now(), l.Per/time.Duration(l.Most)
	at := l.free[address]
	if at.Before(now) {
		at = now
	}
	if wait := at.Add(step).Sub(now) - l.Per; wait > 0 {
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
func (l *Limiter) makeRoom(now time.Time) {
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

// Network is the part of an address that one attacker has: an IPv4 address,
// or the 64 bits that a provider hands out in IPv6. It is "" for
// what is no address.
func Network(from string) string {
	ip, err := netip.ParseAddr(from)
	if err != nil {
		return ""
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return prefix.String()
}
