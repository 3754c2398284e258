package auth

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	shards    = 64
	cacheMost = shards * 1024
)

// Cache remembers for a while what is known about something, by its hash: a
// credential, so that most requests cost a hash and a look. It is bounded, and
// its zero value is ready.
type Cache[V any] struct {
	Most int // entries; 0 = 65,536

	shard [shards]struct {
		sync.RWMutex
		entries map[[sha256.Size]byte]cached[V]
	}
	// generation counts forgets: what was read from the database before one
	// must not be kept after it.
	generation atomic.Int64
}

type cached[V any] struct {
	value V
	until time.Time
}

// Get returns what is known, and the generation to hand to Put if that is
// nothing.
func (c *Cache[V]) Get(hash [sha256.Size]byte, now time.Time) (v V, ok bool, generation int64) {
	generation = c.generation.Load()
	s := &c.shard[hash[0]%shards]
	s.RLock()
	e := s.entries[hash]
	s.RUnlock()
	if !now.Before(e.until) {
		return v, false, generation
	}
	return e.value, true, generation
}

// Put keeps what was found out, unless something was forgotten meanwhile.
func (c *Cache[V]) Put(hash [sha256.Size]byte, v V, now, until time.Time, generation int64) {
	s := &c.shard[hash[0]%shards]
	s.Lock()
	defer s.Unlock()
	if c.generation.Load() != generation {
		return
	}
	if s.entries == nil {
		s.entries = map[[sha256.Size]byte]cached[V]{}
	}
	if _, known := s.entries[hash]; !known && len(s.entries) >= cmp.Or(c.Most, cacheMost)/shards {
		dropOne(s.entries, now)
	}
	s.entries[hash] = cached[V]{v, until}
}

// dropOne drops one of a few entries: one whose time is up, else any.
func dropOne[V any](entries map[[sha256.Size]byte]cached[V], now time.Time) {
	var victim [sha256.Size]byte
	looked := 0
	for hash, e := range entries { // in random order
		victim = hash
		if looked++; looked == 8 || !now.Before(e.until) {
			break
		}
	}
	delete(entries, victim)
}

// Forget drops all that something which has changed concerns.
func (c *Cache[V]) Forget(concerns func(V) bool) {
	c.generation.Add(1)
	for i := range c.shard {
		s := &c.shard[i]
		s.Lock()
		maps.DeleteFunc(s.entries, func(_ [sha256.Size]byte, e cached[V]) bool { return concerns(e.value) })
		s.Unlock()
	}
}
