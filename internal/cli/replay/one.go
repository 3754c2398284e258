package replay

import (
	"context"
	"fmt"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// replayOne makes one call again and compares the answers.
func (c *Cmd) replayOne(ctx context.Context, t *terminal.Terminal, cl *client.Client, r client.ReplayRequest) error {
	was, err := cl.Call(ctx, c.Request)
	if err != nil {
		return err
	}
	if c.Edit {
		if err := editInput(ctx, t, was, &r); err != nil {
			return err
		}
	}
	r.IdempotencyKey = "replay " + beeos.NewID() // so that it can be sent again
	made, err := startReplay(ctx, cl, was.ID, r)
	if err != nil {
		return hintYes(err)
	}
	if !c.JSON {
		t.Note("replayed as %s", made.ID)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	is, err := cl.AwaitReplay(ctx, made, func(question string) {
		t.Note("the agent asks: %s — answer with: beeos tasks continue %s \"...\"", terminal.Printable(question), made.ID)
	})
	if err != nil {
		if ctx.Err() != nil {
			return terminal.AddHint(err, "it goes on; see what became of it with: beeos calls show "+made.ID)
		}
		return err
	}
	p := newPair(was, is)
	if c.JSON {
		err = t.PrintJSON(p)
	} else {
		err = p.print(t)
	}
	if err == nil && is.Outcome != "ok" {
		return terminal.ErrAgent
	}
	return err
}

// How long a server may be away, or busy, before a replay is given up.
const (
	giveUpAfter = time.Minute
	firstPause  = 200 * time.Millisecond
	longPause   = 5 * time.Second
)

// startReplay starts a replay. It is asked for again while the server cannot be
// reached, and when the quota has room again: under its key it is made once.
func startReplay(ctx context.Context, cl *client.Client, id string, r client.ReplayRequest) (*client.Replay, error) {
	pause, trouble := firstPause, time.Time{}
	for {
		made, err := cl.ReplayCall(ctx, id, r)
		if err == nil || ctx.Err() != nil {
			return made, err
		}
		wait := pause
		switch {
		case beeos.CodeOf(err) == beeos.RateLimited:
			trouble = time.Time{}
			if e, ok := asError(err); ok && e.RetryAfter > 0 {
				wait = e.RetryAfter
			}
		case isPassing(err):
			if trouble.IsZero() {
				trouble = time.Now()
			}
			if time.Since(trouble) > giveUpAfter {
				return nil, err
			}
			pause = min(2*pause, longPause)
		default:
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("replay %s: %w", id, ctx.Err())
		}
	}
}
