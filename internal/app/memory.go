package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcFloor is how much may pile up before it is worth collecting. A server
	// with few agents lives in a few megabytes; at Go's default it would
	// collect them all the time under load.
	gcFloor    = 64 << 20
	gcDefault  = 100
	gcMost     = 1000
	gcInterval = time.Second
)

// tuneMemory keeps the garbage collector at the floor while the heap is small
// and at Go's default once it is not. GOGC, when set, has the last word.
func tuneMemory(ctx context.Context) error {
	if os.Getenv("GOGC") != "" {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(gcMost))
	tick := time.NewTicker(gcInterval)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-tick.C:
			metrics.Read(live)
			debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
		case <-ctx.Done():
			return nil
		}
	}
}

func gcPercent(live uint64) int {
	if live == 0 {
		return gcMost
	}
	return int(min(gcMost, max(gcDefault, gcFloor*100/live)))
}
