// Package sessions holds what a client and the server agreed on at initialize.
// A session is its own id, sealed, so that any replica opens it; the registry
// knows those that have ended. Other names that clients bring back (questions,
// states, streams) are sealed here as well.
package sessions

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/seal"
)

const (
	rereadEnded = 2 * time.Second
	tidyEvery   = time.Minute
	endedMost   = 100_000 // that are known here, around 15 MB
)

// Registry opens sessions and ends them. A session is sealed into its id, so
// all there is to know here is which ids no longer open.
type Registry struct {
	Options
	Sealer *Sealer

	mu    sync.RWMutex
	ended map[string]endedMark // by session
}

// endedMark is what is known about a session that has ended.
type endedMark struct {
	until time.Time // when its id no longer opens anyway
	heard time.Time // last, from the store or another replica
}

type Options struct {
	Sessions *sessions.Table
	Cluster  *cluster.Table
	Bus      *bus.Bus
	Log      *slog.Logger
	Now      func() time.Time
	NodeDead time.Duration // how long a node may be silent before it counts as gone
}

// Open reads the key that seals sessions from the store, so that all
// replicas share it, and the sessions that have ended.
func Open(ctx context.Context, opt Options) (*Registry, error) {
	secret, err := opt.Cluster.Secret(ctx, "mcp session", seal.NewKey)
	if err != nil {
		return nil, err
	}
	sealer, err := newSealer(secret)
	if err != nil {
		return nil, err
	}
	r := &Registry{Options: opt, Sealer: sealer, ended: map[string]endedMark{}}
	return r, r.readEnded(ctx, time.Time{})
}

// KeepFresh has ended sessions known here until ctx ends: by a control message
// at once, by reading the store a moment later.
func (r *Registry) KeepFresh(ctx context.Context) error {
	tick, tidy := time.NewTicker(rereadEnded), time.NewTicker(tidyEvery)
	defer tick.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-tidy.C:
			if err := database.Within(ctx, r.tidy); err != nil && ctx.Err() == nil {
				r.Log.Warn("ended sessions", "err", err)
			}
		case <-tick.C:
			if err := database.Within(ctx, r.readLatelyEnded); err != nil && ctx.Err() == nil {
				r.Log.Warn("ended sessions", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *Registry) readLatelyEnded(ctx context.Context) error {
	return r.readEnded(ctx, r.Now().Add(-10*rereadEnded))
}

func (r *Registry) readEnded(ctx context.Context, since time.Time) error {
	list, err := r.Sessions.ListEnded(ctx, since)
	for _, s := range list {
		if s.Expires.After(r.Now()) {
			r.noteEnded(s.ID, s.Expires)
		}
	}
	return err
}

// OpenSession opens an Mcp-Session-Id that this caller may use with this agent
// now.
func (r *Registry) OpenSession(agentID, principal, id string) (*Session, error) {
	s, ok := r.Sealer.session(agentID, principal, id)
	if !ok || r.HasEnded(s.Channel) || r.Now().After(s.Expires()) {
		return nil, wire.UnknownSession()
	}
	return s, nil
}

// EndSession makes the session unknown from now on, everywhere, for as long as
// its id would open.
func (r *Registry) EndSession(ctx context.Context, principal string, s *Session, expires time.Time) error {
	if err := r.Sessions.End(ctx, sessions.Ended{ID: s.Channel, Owner: principal, EndedAt: r.Now(), Expires: expires}); err != nil {
		return err
	}
	r.noteEnded(s.Channel, expires)
	r.Bus.Control(bus.Control{Kind: bus.SessionEnded, ID: s.Channel})
	// A client that hears it is over may try the next replica at once.
	if nodes, err := r.Cluster.ListNodes(ctx, r.Cluster.Now().Add(-r.NodeDead)); err == nil {
		r.Bus.Settle(ctx, len(nodes)-1)
	}
	return nil
}

// HeardOfEnd remembers a session that another replica has ended until the
// store has told for how long.
func (r *Registry) HeardOfEnd(id string) { r.noteEnded(id, r.Now().Add(10*rereadEnded)) }

func (r *Registry) noteEnded(id string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.ended[id]
	for victim := range r.ended {
		if ok || len(r.ended) < endedMost {
			break
		}
		delete(r.ended, victim) // its client ended it, and has no reason to come back
	}
	if known.until.After(until) {
		until = known.until
	}
	r.ended[id] = endedMark{until, r.Now()}
}

// tidy forgets what the store has forgotten, which bounds what it keeps.
func (r *Registry) tidy(ctx context.Context) error {
	began := r.Now()
	if err := r.readEnded(ctx, time.Time{}); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.ended, func(_ string, m endedMark) bool { return m.heard.Before(began) || m.until.Before(began) })
	return nil
}

func (r *Registry) HasEnded(id string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.ended[id]
	return ok
}
