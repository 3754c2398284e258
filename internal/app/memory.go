package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcFloor is how much may pile up before it is worth collecting. A server
	// with few agents lives in a few megabytes; at Go's default it would
	// collect them all the time under load.
	gcFloor   = 64 << 20
	gcDefault = 100
	gcMost    = 1000
)

// tuneMemory keeps the garbage collector at the floor while the heap is small
// and at Go's default once it is not. GOGC, when set, has the last word.
//
// It looks after every collection: a percentage that was right for a heap of a
// few megabytes lets thousands of clients that come within a second pile up
// several times what they need.
func tuneMemory(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcMost))
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	collected := make(chan struct{}, 1)
	for {
		noticeCollection(collected)
		select {
		case <-collected:
			metrics.Read(live)
			debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
		case <-ctx.Done():
			return nil
		}
	}
}

// noticeCollection puts a value into done, which has room for one, when the
// garbage collector comes by the next time.
func noticeCollection(done chan struct{}) {
	garbage := new([16]byte) // large enough to share no memory with what lives on
	runtime.AddCleanup(garbage, func(done chan struct{}) { done <- struct{}{} }, done)
}

func gcPercent(live uint64) int {
	if live == 0 {
		return gcMost
	}
	return int(min(gcMost, max(gcDefault, gcFloor*100/live)))
}
