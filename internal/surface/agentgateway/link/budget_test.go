package link

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBudgetHoldsFloodsBack: a burst passes at once, what follows at the rate.
func TestBudgetHoldsFloodsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b budget
		begun := time.Now()
		for range burst / frameCost {
			b.spend(frameCost)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("the burst took %s", took)
		}
		for range 10 * rate / frameCost {
			b.spend(frameCost)
		}
		if took := time.Since(begun); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("ten times the rate took %s", took)
		}
	})
}

// TestBudgetBoundsWorkUnderWay: who brings more waits for room.
func TestBudgetBoundsWorkUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b budget
		for range maxUnderway / storeCost {
			b.begin(storeCost)
		}
		in := false
		go func() { b.begin(storeCost); in = true }()
		synctest.Wait()
		if in {
			t.Fatal("there was room")
		}
		b.end(storeCost)
		synctest.Wait()
		if !in {
			t.Error("there was no room")
		}
	})
}
