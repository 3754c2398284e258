// Package upstream has what every bridge needs to reach what stands behind its
// agent: how long to wait before another try (upstream.go) and for a program to
// be there (slot.go), addresses and what goes wrong with them, without telling
// callers where they lead (address.go), commands and durations as operators
// write them (command.go), secrets that come from the environment or from files
// (secret.go), and texts that are fit for a log (text.go).
package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	MinPause    = 200 * time.Millisecond // before a program that ended is started again
	MaxPause    = 30 * time.Second
	SteadyRun   = 10 * time.Second // a run of this length was no false start
	ExitWithin  = 5 * time.Second  // for the program to end by itself once its stdin is closed
	StartWithin = 10 * time.Second // a message waits no longer for the program to be there
	OpenWithin  = 60 * time.Second // npx may have to install it first
)

// Pause waits, and reports whether ctx let it.
func Pause(ctx context.Context, d time.Duration) bool { return outbound.Wait(ctx, d) == nil }

// KeepRunning runs something, and runs it again when it ends, until ctx does.
// The pause before the next try doubles, unless the last run was a long one.
func KeepRunning(ctx context.Context, run func(context.Context) error, ended func(pause time.Duration, err error)) {
	for pause := MinPause; ; pause = min(2*pause, MaxPause) {
		start := time.Now()
		err := run(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(start) >= SteadyRun {
			pause = MinPause
		}
		ended(pause, err)
		if !Pause(ctx, pause) {
			return
		}
	}
}

// KeepTrying tries something until it works, and reports whether it did before
// ctx ended. The pause before the next try doubles; failed is told before each.
func KeepTrying(ctx context.Context, try func() error, failed func(pause time.Duration, err error)) bool {
	for pause := MinPause; ; pause = min(2*pause, MaxPause) {
		err := try()
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			failed(pause, err)
		}
		if !Pause(ctx, pause) {
			return false
		}
	}
}

// ServeBeside serves an agent while keep sees to what stands behind it, which
// outlives the agent: answers in hand are finished first.
func ServeBeside(ctx context.Context, keep func(context.Context), serve func(context.Context) error) error {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	var keeper sync.WaitGroup
	keeper.Go(func() { keep(life) })
	err := serve(ctx)
	stop()
	keeper.Wait()
	return err
}

var (
	ErrGone   = errors.New("the program behind this agent ended before it had answered; try again")
	ErrAbsent = errors.New("the program behind this agent does not start; its log says why")
)
