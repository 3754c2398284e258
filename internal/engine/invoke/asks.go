package invoke

import (
	"context"
	"time"

	"github.com/beeos/beeos"
)

// Live events may be lost, and a caller that has missed a question would wait
// for an agent that waits for the caller. So questions are also looked for
// where they are kept, seldom, for as long as a call takes.
const (
	lookFirst   = time.Second
	lookSeldom  = 16 * time.Second
	lookBackoff = 2
)

// lookTimer is a timer that takes longer each time.
type lookTimer struct {
	C     <-chan time.Time // nil for a caller that wants no live events
	timer *time.Timer
	pause time.Duration
}

func (t *turn) startLookTimer() lookTimer {
	if t.feed == nil {
		return lookTimer{}
	}
	timer := time.NewTimer(lookFirst)
	return lookTimer{C: timer.C, timer: timer, pause: lookFirst}
}

func (l *lookTimer) next() {
	l.pause = min(l.pause*lookBackoff, lookSeldom)
	l.timer.Reset(l.pause)
}

// yieldOpenAsks yields the questions that are open and that the caller has not
// seen; false when it has had enough.
func (t *turn) yieldOpenAsks(ctx context.Context, yield func(*beeos.Event) bool) bool {
	open, _ := t.c.opt.Bus.Asks(ctx, t.id)
	for i := range open {
		if !t.yieldOnce(&open[i], yield) {
			return false
		}
	}
	return true
}

// yieldOnce yields an event, and what it says only once: a question may come live
// and be found as well, and a lost connection has its agent say again what it said.
func (t *turn) yieldOnce(ev *beeos.Event, yield func(*beeos.Event) bool) bool {
	switch ev.Kind {
	case beeos.EventDelta:
		if !t.told.goesOn(ev) {
			return true
		}
	case beeos.EventAsk:
		if t.shown[ev.AskID] {
			return true
		}
		if t.shown == nil {
			t.shown = map[string]bool{}
		}
		t.shown[ev.AskID] = true
	}
	return yield(ev)
}

// decideLook is how soon a call looks again whether a person still decides.
const decideLook = 10 * time.Second

// decideWithin bounds the look: its caller's time is over.
const decideWithin = 700 * time.Millisecond

// personDecides reports whether a turn waits for somebody's approval.
func (c *Calls) personDecides(ctx context.Context, turn string) (bool, error) {
	if c.opt.Approvals == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	waits, err := c.opt.Approvals.TurnAwaits(ctx, turn, c.opt.Now())
	if err != nil && ctx.Err() == nil {
		c.opt.Log.WarnContext(ctx, "is anybody asked?", "turn", turn, "err", err)
	}
	return waits, err
}
