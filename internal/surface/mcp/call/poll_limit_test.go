package call

import (
	"testing"
	"time"
)

// TestPollLimit: a burst is free, then one look at a time; others and later
// looks are not affected, and nobody is remembered for ever.
func TestPollLimit(t *testing.T) {
	now := time.Now()
	p := pollLimit{fullAt: map[string]time.Time{}}
	for i := range pollBurst {
		if wait := p.take("a", now); wait != 0 {
			t.Fatalf("look %d: wait %v", i, wait)
		}
	}
	if wait := p.take("a", now); wait != pollEvery {
		t.Error("one too many: wait ", wait)
	}
	if wait := p.take("b", now); wait != 0 {
		t.Error("somebody else waits ", wait)
	}
	if wait := p.take("a", now.Add(pollEvery)); wait != 0 {
		t.Error("after a while: wait ", wait)
	}
	p.take("c", now.Add(time.Hour))
	if len(p.fullAt) != 1 {
		t.Errorf("%d credentials are remembered", len(p.fullAt))
	}
}
