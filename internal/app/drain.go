package app

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

// finishWithin is how long calls under way may take to be answered when the process
// is asked to stop. Who still waits then is told that it stops; its call goes on.
const finishWithin = 5 * time.Second

// drain lets everybody know that this process is about to stop, takes no new calls,
// and finishes what it has in hand while its doors are still open: agents answer
// through them.
func (p *parts) drain(ctx context.Context) {
	p.server.AnnounceStop()
	waiting := p.calls.TakeNoMore()
	p.log.Info("stopping: no new calls are taken", "waiting", waiting)
	ctx, cancel := context.WithTimeout(ctx, finishWithin)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error {
		p.calls.AwaitIdle(ctx)
		return nil
	})
	if p.builtins != nil {
		group.Go(func() error {
			p.builtins.HandOver(ctx)
			return nil
		})
	}
	group.Wait() //nolint:errcheck // neither has an error to give
}
