package auth

import (
	"crypto/sha256"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

const (
	foundFor   = 30 * time.Second // a revocation whose notice got lost takes this long
	absentFor  = time.Second      // so that a new key works at once
	shards     = 64
	shardLimit = 1024
)

// cachedKey is what is known about one hash. Only used changes after it is made.
type cachedKey struct {
	caller  beeos.Caller
	keyID   string // "" = no usable key has this hash
	expires time.Time
	until   time.Time    // of the cached answer
	used    atomic.Int64 // unix microseconds since the last flush; 0 = not
}

func (e *cachedKey) valid(now time.Time) bool {
	return e.keyID != "" && (e.expires.IsZero() || now.Before(e.expires))
}

// concerns reports whether the entry depends on the key, user or agent.
func (e *cachedKey) concerns(id string) bool {
	return e.keyID != "" && (id == e.keyID || id == e.caller.UserID || id == e.caller.AgentID)
}

// keyCache maps hashes of keys to what is known about them. It is bounded; its
// zero value is ready.
type keyCache struct {
	shard [shards]struct {
		sync.RWMutex
		entries map[[sha256.Size]byte]*cachedKey
	}
	// generation counts forgets: an answer that was read from the database
	// before one must not be cached after it.
	generation atomic.Int64

	mu   sync.Mutex
	left map[string]time.Time // last-used times of entries that are gone
}

// get returns the entry, or nil and the generation to hand to put.
func (c *keyCache) get(hash [sha256.Size]byte, now time.Time) (*cachedKey, int64) {
	gen := c.generation.Load()
	s := &c.shard[hash[0]%shards]
	s.RLock()
	e := s.entries[hash]
	s.RUnlock()
	if e == nil || !now.Before(e.until) {
		return nil, gen
	}
	return e, gen
}

// put keeps what the database said about a hash.
func (c *keyCache) put(hash [sha256.Size]byte, k beeos.Key, now time.Time, gen int64) *cachedKey {
	e := &cachedKey{until: now.Add(absentFor)}
	if caller, ok := callerOf(k); ok && k.RevokedAt.IsZero() {
		e.keyID, e.expires, e.until, e.caller = k.ID, k.ExpiresAt, now.Add(foundFor), caller
	}
	s := &c.shard[hash[0]%shards]
	s.Lock()
	defer s.Unlock()
	if c.generation.Load() != gen {
		return e
	}
	if s.entries == nil {
		s.entries = map[[sha256.Size]byte]*cachedKey{}
	}
	if old := s.entries[hash]; old != nil {
		c.keepUsed(old)
	} else if len(s.entries) >= shardLimit {
		c.makeRoom(s.entries, now)
	}
	s.entries[hash] = e
	return e
}

// makeRoom drops one of a few entries: one whose time is up, else any.
func (c *keyCache) makeRoom(entries map[[sha256.Size]byte]*cachedKey, now time.Time) {
	var victim [sha256.Size]byte
	looked := 0
	for hash, e := range entries { // in random order
		victim = hash
		if looked++; looked == 8 || !now.Before(e.until) {
			break
		}
	}
	c.keepUsed(entries[victim])
	delete(entries, victim)
}

func (c *keyCache) forget(id string) {
	c.generation.Add(1)
	for i := range c.shard {
		s := &c.shard[i]
		s.Lock()
		maps.DeleteFunc(s.entries, func(_ [sha256.Size]byte, e *cachedKey) bool {
			if !e.concerns(id) {
				return false
			}
			c.keepUsed(e)
			return true
		})
		s.Unlock()
	}
}

// keepUsed saves the last-used time of an entry that goes.
func (c *keyCache) keepUsed(e *cachedKey) {
	if at := e.used.Swap(0); at != 0 {
		c.giveBack(map[string]time.Time{e.keyID: time.UnixMicro(at)})
	}
}

// takeUsed returns the last-used times since it was called before.
func (c *keyCache) takeUsed() map[string]time.Time {
	c.mu.Lock()
	used := c.left
	c.left = nil
	c.mu.Unlock()
	if used == nil {
		used = map[string]time.Time{}
	}
	for i := range c.shard {
		s := &c.shard[i]
		s.RLock()
		for _, e := range s.entries {
			if at := e.used.Swap(0); at != 0 {
				used[e.keyID] = time.UnixMicro(at)
			}
		}
		s.RUnlock()
	}
	return used
}

// giveBack puts times back that could not be written.
func (c *keyCache) giveBack(used map[string]time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = map[string]time.Time{}
	}
	for id, at := range used {
		if at.After(c.left[id]) {
			c.left[id] = at
		}
	}
}
