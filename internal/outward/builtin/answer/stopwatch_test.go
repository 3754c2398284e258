package answer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitingForAPersonTakesNoTime: only what the answer does itself counts,
// also when several calls wait at once.
func TestWaitingForAPersonTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w, stop := startStopwatch(t.Context(), time.Minute, errWall)
		defer stop()
		time.Sleep(40 * time.Second)
		w.pause()
		time.Sleep(10 * time.Minute)
		w.pause()
		time.Sleep(10 * time.Minute)
		w.resume()
		time.Sleep(10 * time.Minute)
		w.resume()
		time.Sleep(19 * time.Second)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Fatal("the wait has used up the time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if context.Cause(ctx) != errWall {
			t.Errorf("ended with %v", context.Cause(ctx))
		}
	})
}
