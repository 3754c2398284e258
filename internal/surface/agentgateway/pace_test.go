package agentgateway

import (
	"fmt"
	"testing"
	"time"
)

// TestPace: a burst passes, what follows waits its turn, who waits too long is
// refused, and nobody waits for anybody else.
func TestPace(t *testing.T) {
	var p pace
	now := time.Now()
	for i := range int(paceBurst / paceStep) {
		if wait, ok := p.reserve("a", now); wait != 0 || !ok {
			t.Fatalf("number %d of the burst waits %s, %v", i, wait, ok)
		}
	}
	for i := range int(paceLongest / paceStep) {
		if wait, ok := p.reserve("a", now); wait != time.Duration(i+1)*paceStep || !ok {
			t.Fatalf("number %d after the burst waits %s, %v", i, wait, ok)
		}
	}
	if wait, ok := p.reserve("a", now); ok {
		t.Errorf("it may wait for %s", wait)
	}
	if wait, ok := p.reserve("b", now); wait != 0 || !ok {
		t.Errorf("another waits %s, %v", wait, ok)
	}
	for i := range 4 { // the first two are forgiven
		want := time.Duration(max(0, i-2))*paceTooLong + time.Duration(i+1)*paceStep
		if i < 2 {
			want = 0
		}
		if wait, ok := p.reserve("e", now); wait != want || !ok {
			t.Errorf("after %d messages that were too long an instance waits %s, not %s", i, wait, want)
		}
		p.charge("e", paceTooLong, now)
	}
	p.offend("d", now)
	if wait := p.isCutOff("d", now); wait != cutOffFor {
		t.Errorf("an offender is back after %s", wait)
	}
	if wait := p.isCutOff("a", now); wait != 0 {
		t.Errorf("another stays away for %s", wait)
	}
	now = now.Add(time.Hour)
	if wait := p.isCutOff("d", now); wait != 0 || len(p.cutOff) > 0 {
		t.Errorf("after an hour an offender stays away for %s: %v", wait, p.cutOff)
	}
	for i := range paceMost + 10 {
		p.reserve(fmt.Sprint("c", i), now)
	}
	if n := len(p.next); n > paceMost {
		t.Errorf("%d are remembered", n)
	}
	if wait, ok := p.reserve("a", now); wait != 0 || !ok {
		t.Errorf("after an hour it waits %s, %v", wait, ok)
	}
}
