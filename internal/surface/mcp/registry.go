package mcp

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
)

const rereadEnded = 2 * time.Second

// registry opens sessions and ends them. A session is sealed into its id, so
// all there is to know here is which ids no longer open.
type registry struct {
	registryOptions
	sealer *sealer

	mu    sync.RWMutex
	ended map[string]time.Time // session -> until when to remember it
}

type registryOptions struct {
	DB       *store.DB
	Bus      *bus.Bus
	Log      *slog.Logger
	Now      func() time.Time
	NodeDead time.Duration // how long a node may be silent before it counts as gone
}

// openRegistry reads the key that seals sessions from the store, so that all
// replicas share it, and the sessions that have ended.
func openRegistry(ctx context.Context, opt registryOptions) (*registry, error) {
	secret, err := opt.DB.Secret(ctx, "mcp session", newSecret)
	if err != nil {
		return nil, err
	}
	seal, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	r := &registry{registryOptions: opt, sealer: seal, ended: map[string]time.Time{}}
	return r, r.readEnded(ctx, time.Time{})
}

// keepFresh has ended sessions known here until ctx ends: by a control message
// at once, by reading the store a moment later.
func (r *registry) keepFresh(ctx context.Context) error {
	tick, tidy := time.NewTicker(rereadEnded), time.NewTicker(time.Hour)
	defer tick.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-tidy.C:
			r.forgetExpired(r.Now())
		case <-tick.C:
			if err := r.readEnded(ctx, r.Now().Add(-10*rereadEnded)); err != nil && ctx.Err() == nil {
				r.Log.Warn("ended sessions", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *registry) readEnded(ctx context.Context, since time.Time) error {
	list, err := r.DB.EndedSessions(ctx, since)
	for _, s := range list {
		if s.Expires.After(r.Now()) {
			r.noteEnded(s.ID, s.Expires)
		}
	}
	return err
}

// openSession opens an Mcp-Session-Id that this caller may use with this agent
// now.
func (r *registry) openSession(agentID, principal, id string) (*session, error) {
	s, ok := r.sealer.session(agentID, principal, id)
	if !ok || r.hasEnded(s.channel) || r.Now().After(s.expires()) {
		return nil, unknownSession()
	}
	return s, nil
}

// endSession makes the session unknown from now on, everywhere, for as long as
// its id would open.
func (r *registry) endSession(ctx context.Context, s *session, expires time.Time) error {
	if err := r.DB.EndSession(ctx, store.EndedSession{ID: s.channel, EndedAt: r.Now(), Expires: expires}); err != nil {
		return err
	}
	r.noteEnded(s.channel, expires)
	r.Bus.Control(bus.Control{Kind: bus.SessionEnded, ID: s.channel})
	// A client that hears it is over may try the next replica at once.
	if nodes, err := r.DB.Nodes(ctx, time.Now().Add(-r.NodeDead)); err == nil {
		r.Bus.Settle(ctx, len(nodes)-1)
	}
	return nil
}

// heardOfEnd remembers a session that another replica has ended until the
// store has told for how long.
func (r *registry) heardOfEnd(id string) { r.noteEnded(id, r.Now().Add(10*rereadEnded)) }

func (r *registry) noteEnded(id string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until.After(r.ended[id]) {
		r.ended[id] = until
	}
}

func (r *registry) forgetExpired(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.ended, func(_ string, until time.Time) bool { return until.Before(now) })
}

func (r *registry) hasEnded(id string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.ended[id]
	return ok
}
