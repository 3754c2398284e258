package tokens

import (
	"crypto/sha256"
	"maps"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

const (
	liveFor     = 5 * time.Second // how long a revocation elsewhere can go unnoticed
	deadFor     = time.Second
	entriesMost = 20_000
)

type tokenHash = [sha256.Size]byte

// cachedToken is what is known about a token whose signature is good. It never
// changes after it is made.
type cachedToken struct {
	kind     string
	audience string
	family   string
	caller   beeos.Caller
	dead     bool      // nothing stands behind it any more
	expires  time.Time // the token
	until    time.Time // this knowledge
}

func (e *cachedToken) concerns(id string) bool {
	return id == e.family || id == e.caller.CredentialID || id == e.caller.UserID
}

// tokenCache remembers tokens for some seconds, so that most calls cost a hash and
// a look.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[tokenHash]*cachedToken
	// generation counts forgets: what was read before one must not be kept
	// after it.
	generation int64
}

// get returns what is known, or nil and the generation to hand to put.
func (c *tokenCache) get(hash tokenHash, now time.Time) (*cachedToken, int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.entries[hash]; e != nil && now.Before(e.until) {
		return e, c.generation
	}
	return nil, c.generation
}

func (c *tokenCache) put(hash tokenHash, e *cachedToken, generation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return
	}
	if len(c.entries) >= entriesMost {
		c.makeRoom(e.until)
	}
	c.entries[hash] = e
}

// makeRoom drops what is no longer known, or else a part of the rest.
func (c *tokenCache) makeRoom(until time.Time) {
	now := until.Add(-liveFor)
	maps.DeleteFunc(c.entries, func(_ tokenHash, e *cachedToken) bool { return !now.Before(e.until) })
	for hash := range c.entries {
		if len(c.entries) < entriesMost*3/4 {
			break
		}
		delete(c.entries, hash)
	}
}

func (c *tokenCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	maps.DeleteFunc(c.entries, func(_ tokenHash, e *cachedToken) bool { return e.concerns(id) })
}
