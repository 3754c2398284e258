package app

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestGCPercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{
		{0, gcMost},
		{1 << 20, gcMost},
		{gcFloor / 4, 400},
		{gcFloor, gcDefault},
		{10 * gcFloor, gcDefault},
	} {
		if got := gcPercent(tt.live); got != tt.want {
			t.Errorf("gcPercent(%d) = %d, want %d", tt.live, got, tt.want)
		}
	}
}

// TestNoticeCollection: every collection is noticed, not just the first.
func TestNoticeCollection(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan struct{}, 1)
	for range 3 {
		noticeCollection(done)
		runtime.GC()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatal("a collection went by unnoticed")
		}
	}
}
