package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

func TestCacheIsBounded(t *testing.T) {
	var c keyCache
	now := time.Now()
	for i := range 2 * shards * shardLimit {
		hash := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		c.put(hash, beeos.Key{ID: "k", Kind: beeos.UserKey}, now, 0)
	}
	total := 0
	for i := range c.shard {
		total += len(c.shard[i].entries)
	}
	if total > shards*shardLimit || total < shards*shardLimit/2 {
		t.Errorf("%d entries", total)
	}
}

// A revocation that comes between reading the database and caching what it
// said must win.
func TestForgetBeatsALookupUnderWay(t *testing.T) {
	var c keyCache
	now, hash := time.Now(), sha256.Sum256([]byte("key"))
	_, generation := c.get(hash, now)
	c.forget("k")
	c.put(hash, beeos.Key{ID: "k", Kind: beeos.UserKey}, now, generation)
	if e, _ := c.get(hash, now); e != nil {
		t.Error("a stale answer was cached")
	}
}

func TestLastUsedSurvivesEvictionAndFailure(t *testing.T) {
	var c keyCache
	now, hash := time.Now(), sha256.Sum256([]byte("key"))
	c.put(hash, beeos.Key{ID: "k", Kind: beeos.UserKey}, now, 0).used.Store(now.UnixMicro())
	c.put(hash, beeos.Key{ID: "k", Kind: beeos.UserKey}, now.Add(time.Minute), 0) // the old entry goes
	used := c.takeUsed()
	if used["k"].UnixMicro() != now.UnixMicro() {
		t.Fatalf("used %v", used)
	}
	c.giveBack(used)
	if again := c.takeUsed(); again["k"].UnixMicro() != now.UnixMicro() {
		t.Errorf("given back, then %v", again)
	}
}
