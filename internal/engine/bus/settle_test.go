package bus

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestSettle: after it, the other node has heard everything.
func TestSettle(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		var heard atomic.Int32
		defer b.OnControl(func(c Control) {
			if c.Kind == SessionEnded {
				heard.Add(1)
			}
		})()
		late := 0
		for i := range int32(100) {
			a.Control(Control{Kind: SessionEnded, ID: strconv.Itoa(int(i))})
			start := time.Now()
			a.Settle(t.Context(), 1)
			if took := time.Since(start); took >= settleWithin { // it gave up, as it may on a machine this busy
				late++
				eventually(t, "it is heard later", func() bool { return heard.Load() > i })
			}
			if got := heard.Load(); got != i+1 {
				t.Fatalf("heard %d of %d", got, i+1)
			}
		}
		if late > 10 {
			t.Errorf("gave up %d times of 100", late)
		}
		start := time.Now()
		if heard := a.Settle(t.Context(), 5); heard != 1 { // there are no more
			t.Errorf("%d other nodes answered", heard)
		}
		if took := time.Since(start); took > 10*settleWithin {
			t.Errorf("waited %s for nobody", took)
		}
	})
	t.Run("alone", func(t *testing.T) {
		b := open(t, Options{})
		start := time.Now()
		if heard := b.Settle(t.Context(), 1); heard != 0 {
			t.Errorf("%d other nodes answered", heard)
		}
		if took := time.Since(start); took > settleWithin/2 {
			t.Errorf("took %s", took)
		}
	})
}

// TestAsks: whoever holds a turn knows its open questions, and an answer that
// was sent before the question is asked has arrived.
func TestAsks(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		var answered atomic.Bool
		defer b.OnControl(func(c Control) {
			if c.Kind == Answer {
				answered.Store(true)
			}
		})()
		b.ServeAsks(func(turn string) ([]beeos.Event, bool) {
			switch {
			case turn != "t":
				return nil, false
			case answered.Load():
				return []beeos.Event{}, true
			}
			return []beeos.Event{{Kind: beeos.EventAsk, AskID: "a", Key: "k"}}, true
		})
		// A node that is too busy to answer in time is as good as none.
		asksOf := func(node *Bus, turn string) (asks []beeos.Event) {
			eventually(t, "the one that holds it answers", func() (ok bool) {
				asks, ok = node.Asks(t.Context(), turn)
				return ok
			})
			return asks
		}
		for _, node := range []*Bus{a, b} {
			if asks := asksOf(node, "t"); len(asks) != 1 || asks[0].Key != "k" {
				t.Errorf("asks %v", asks)
			}
		}
		if asks, ok := a.Asks(t.Context(), "another"); ok {
			t.Errorf("nobody holds it, but %v", asks)
		}
		a.Control(Control{Kind: Answer, ID: "a"})
		if asks := asksOf(a, "t"); len(asks) != 0 {
			t.Errorf("after the answer: %v", asks)
		}
	})
}
