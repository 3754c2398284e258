package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A session is sealed into its id, so the store keeps only what happened to it
// since: that it ended, its log level, the resources it watches.

const (
	sessionLife      = 30 * 24 * time.Hour
	rereadEnded      = 2 * time.Second
	subscriptionsMax = 1000 // per session
)

// endedSessions are those that no longer open, known to every replica: by news
// at once, by reading the store a moment later.
type endedSessions struct {
	mu  sync.RWMutex
	ids map[string]time.Time // until when to remember them
}

func (e *endedSessions) add(id string, until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if until.After(e.ids[id]) {
		e.ids[id] = until
	}
}

func (e *endedSessions) prune(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.ids, func(_ string, until time.Time) bool { return until.Before(now) })
}

func (e *endedSessions) has(id string) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	_, ok := e.ids[id]
	return ok
}

// Run keeps the gateway's knowledge of ended sessions fresh until ctx ends.
func (g *Gateway) Run(ctx context.Context) error {
	tick, tidy := time.NewTicker(rereadEnded), time.NewTicker(time.Hour)
	defer tick.Stop()
	defer tidy.Stop()
	for {
		select {
		case <-tidy.C:
			g.ended.prune(g.opt.Now())
		case <-tick.C:
			if err := g.readEnded(ctx, g.opt.Now().Add(-10*rereadEnded)); err != nil && ctx.Err() == nil {
				g.opt.Log.Warn("ended sessions", "err", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (g *Gateway) readEnded(ctx context.Context, since time.Time) error {
	list, err := g.opt.DB.EndedSessions(ctx, since)
	for _, s := range list {
		if s.Expires.After(g.opt.Now()) {
			g.ended.add(s.ID, s.Expires)
		}
	}
	return err
}

// session opens an Mcp-Session-Id that this caller may use with this agent now.
func (g *Gateway) session(agentID, principal, id string) (*session, error) {
	s, ok := g.sealer.session(agentID, principal, id)
	if !ok || g.ended.has(s.channel) || g.opt.Now().After(s.expires()) {
		return nil, unknownSession()
	}
	return s, nil
}

func (s *session) expires() time.Time { return s.born.Add(sessionLife) }

// endSession makes the session unknown from now on, everywhere, for as long as
// its id would open.
func (g *Gateway) endSession(ctx context.Context, s *session, expires time.Time) error {
	err := g.opt.DB.EndSession(ctx, store.EndedSession{ID: s.channel, EndedAt: g.opt.Now(), Expires: expires})
	if err == nil {
		g.ended.add(s.channel, expires)
		g.opt.Bus.Control(bus.Control{Kind: bus.SessionEnded, ID: s.channel})
		g.settle(ctx) // a client that hears it is over may try the next replica at once
	}
	return err
}

// setLevel answers logging/setLevel.
func (x *exchange) setLevel(ctx context.Context, params []byte) ([]byte, error) {
	level, _ := httpd.StringValue(httpd.Field(params, "level"))
	if !slices.Contains(logLevels, level) {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	if x.session != nil {
		if err := x.g.opt.DB.SetSessionLevel(ctx, x.session.channel, level, x.session.expires()); err != nil {
			return nil, err
		}
	}
	return []byte(`{}`), nil
}

// subscribe answers resources/subscribe and resources/unsubscribe.
func (x *exchange) subscribe(ctx context.Context, m *message) ([]byte, error) {
	uri, ok := httpd.StringValue(httpd.Field(m.params, "uri"))
	if !ok || uri == "" || len(uri) > uriMax {
		return nil, beeos.Errorf(beeos.MissingParam, "params.uri must name a resource; resources/list has them")
	}
	if x.session == nil {
		return nil, beeos.Errorf(beeos.InvalidBody, "subscriptions belong to a session: start one with initialize")
	}
	id := x.session.channel
	if m.method == "resources/unsubscribe" {
		if err := x.g.opt.DB.Unsubscribe(ctx, id, uri); err != nil {
			return nil, err
		}
	} else if err := x.watch(ctx, id, uri); err != nil {
		return nil, err
	}
	x.g.opt.Bus.Control(bus.Control{Kind: bus.SessionChanged, ID: id})
	return []byte(`{}`), nil
}

func (x *exchange) watch(ctx context.Context, session, uri string) error {
	if !x.canRead(uri) {
		return resourceNotFound(uri)
	}
	watched, err := x.g.opt.DB.Subscriptions(ctx, session)
	if err != nil {
		return err
	}
	if len(watched) >= subscriptionsMax {
		return beeos.Errorf(beeos.InvalidParam, "a session watches at most %d resources: unsubscribe from some", subscriptionsMax)
	}
	return x.g.opt.DB.Subscribe(ctx, session, uri, x.session.expires())
}
