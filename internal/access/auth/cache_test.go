package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"
	"time"
)

func TestCacheIsBounded(t *testing.T) {
	var c Cache[string]
	now := time.Now()
	for i := range 2 * cacheMost {
		hash := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(i)))
		c.Put(hash, "k", now, now.Add(time.Minute), 0)
	}
	total := 0
	for i := range c.shard {
		total += len(c.shard[i].entries)
	}
	if total > cacheMost || total < cacheMost/2 {
		t.Errorf("%d entries", total)
	}
}

// A revocation that comes between reading the database and caching what it
// said must win.
func TestForgetBeatsALookupUnderWay(t *testing.T) {
	var c Cache[string]
	now, hash := time.Now(), sha256.Sum256([]byte("key"))
	_, _, generation := c.Get(hash, now)
	c.Forget(func(id string) bool { return id == "k" })
	c.Put(hash, "k", now, now.Add(time.Minute), generation)
	if _, ok, _ := c.Get(hash, now); ok {
		t.Error("a stale answer was cached")
	}
}

func TestLastUsedSurvivesFailure(t *testing.T) {
	var l LastUsed
	now := time.Now()
	l.Note("k", now)
	l.Note("k", now.Add(-time.Second))
	for _, want := range []error{errors.New("the database is away"), nil} {
		err := l.Flush(func(used map[string]time.Time) error {
			if len(used) != 1 || !used["k"].Equal(now) {
				t.Errorf("used %v", used)
			}
			return want
		})
		if err != want {
			t.Error(err)
		}
	}
	if len(l.at) > 0 {
		t.Errorf("still to write: %v", l.at)
	}
}
