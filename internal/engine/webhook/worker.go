package webhook

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/database"
)

const (
	staleMost = 1000 // looked at in one round; the next one goes on

	pruneEvery = time.Hour
	keepClosed = 30 * 24 * time.Hour // how long deliveries can be looked up
	lateBy     = time.Minute         // how late a registration of another process may show up
)

// watchedTasks is the tasks that have webhooks, as far as this process knows: what
// it is told about the others it can ignore without a look at the database.
type watchedTasks struct {
	mu    sync.RWMutex
	turns map[string]struct{}
}

func (s *watchedTasks) has(turn string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.turns[turn]
	return ok
}

func (s *watchedTasks) add(turns ...string) { s.put(turns, false) }

// put adds tasks, or with only replaces all by them.
func (s *watchedTasks) put(turns []string, only bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if only {
		clear(s.turns)
	}
	for _, t := range turns {
		s.turns[t] = struct{}{}
	}
}

func (s *watchedTasks) drop(turn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, turn)
}

// Run watches tasks and sends what there is to tell, until ctx ends. Any
// number of processes may run it side by side.
func (h *Hooks) Run(ctx context.Context) error {
	stop := h.opt.Bus.OnNotice(func(n bus.Notice) { h.noteTask(n.Turn, false) })
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.runWatch(ctx) })
	g.Go(func() error { return h.courier.Run(ctx) })
	return g.Wait()
}

// noteTask says that something happened to a task. It never blocks: what does
// not fit is found by the next round.
func (h *Hooks) noteTask(turn string, registered bool) {
	if !registered && !h.watched.has(turn) {
		return
	}
	select {
	case h.noticed <- turn:
	default:
	}
}

// runWatch turns what happens to tasks into deliveries.
func (h *Hooks) runWatch(ctx context.Context) error {
	tick := time.NewTicker(h.opt.Every)
	defer tick.Stop()
	var known, pruned time.Time
	for {
		now := h.opt.Now()
		prune := now.Sub(pruned) > pruneEvery
		if prune {
			known = time.Time{} // all of them anew: nobody tells which have ended
		}
		h.logFailure(ctx, "look for changes of tasks", database.Within(ctx, func(ctx context.Context) error {
			turns, err := h.opt.Webhooks.ListWatchedTurns(ctx, known)
			if err != nil {
				return err
			}
			h.watched.put(turns, prune)
			known = now.Add(-lateBy)
			if err = h.catchUp(ctx); err == nil && prune {
				pruned = now
				err = h.opt.Webhooks.Prune(ctx, now.Add(-keepClosed))
			}
			return err
		}))
		for waiting := true; waiting; {
			select {
			case turn := <-h.noticed:
				h.watched.add(turn)
				h.logFailure(ctx, "look for changes of a task", database.Within(ctx, func(ctx context.Context) error { return h.recordChangesOf(ctx, turn) }))
			case <-tick.C:
				waiting = false
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// catchUp finds the tasks that nobody told us about.
func (h *Hooks) catchUp(ctx context.Context) error {
	stale, err := h.opt.Webhooks.ListStale(ctx, staleMost)
	if err != nil {
		return err
	}
	for _, w := range stale {
		news, err := h.recordChanges(ctx, w)
		if news {
			h.courier.Wake()
		}
		h.logFailure(ctx, "look for changes of a task", err) // one that fails holds up no other
	}
	return nil
}

func (h *Hooks) recordChangesOf(ctx context.Context, turn string) error {
	hooks, err := h.opt.Webhooks.ListWatching(ctx, turn)
	if err != nil {
		return err
	}
	if len(hooks) == 0 {
		h.watched.drop(turn)
	}
	for _, w := range hooks {
		news, err := h.recordChanges(ctx, w)
		if news {
			h.courier.Wake()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// logFailure logs what went wrong; the next round tries again.
func (h *Hooks) logFailure(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		h.opt.Log.ErrorContext(ctx, what, "err", err)
	}
}
