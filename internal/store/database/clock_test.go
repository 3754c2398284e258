package database

import (
	"testing"
	"time"
)

// TestClockDoesNotGoBack: a reading that came late makes the time stand still for a
// moment; only a clock that was set goes back.
func TestClockDoesNotGoBack(t *testing.T) {
	var c clock
	here := time.Now()
	c.set(here, here.Add(time.Hour))
	told := c.read.Load().after(time.Now())
	const late = jump * 3 / 4
	c.set(here, here.Add(time.Hour-late))
	if now := c.read.Load().after(time.Now()); now.Before(told) {
		t.Errorf("the time has gone back by %v", told.Sub(now))
	}
	if later := c.read.Load().after(here.Add(time.Minute)); later != here.Add(time.Hour+time.Minute-late) {
		t.Errorf("a minute later it is %v", later.Sub(here))
	}
	if !c.set(here, here) {
		t.Error("an hour back is no jump")
	}
	if now := c.read.Load().after(time.Now()); now.Sub(here) > 10*time.Second {
		t.Errorf("it is %v ahead though it was set", now.Sub(here))
	}
}
