package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// How many resources are watched at a time, and by how many requests.
const (
	maxWatched = 500
	maxListens = 50
)

// baseSession is the session that is always there. It asks the server to say
// when something changes: its lists, and the resources that were listed or
// read. An agent does not know what its callers watch, so it watches all that
// they may.
type baseSession struct {
	*session.Session
	life    context.Context // of the requests that bring the notices; newest revision only
	cancel  context.CancelFunc
	running sync.WaitGroup // those requests

	mu      sync.Mutex
	uris    []string
	listens int
}

func newBaseSession(s *session.Session) *baseSession {
	b := &baseSession{Session: s}
	b.life, b.cancel = context.WithCancel(context.Background())
	return b
}

// watchOffers watches the lists, and the resources that are in them.
func (b *baseSession) watchOffers(ctx context.Context, o session.Offers) {
	var uris []string
	for _, r := range o.Resources {
		if r.URI != "" {
			uris = append(uris, r.URI)
		}
	}
	b.subscribe(ctx, uris)
}

// watchResource adds one that somebody has read: a template can make any number.
func (b *baseSession) watchResource(ctx context.Context, uri string) { b.subscribe(ctx, []string{uri}) }

func (b *baseSession) subscribe(ctx context.Context, uris []string) {
	if can := b.About.Capabilities.Resources; can == nil || !can.Subscribe {
		uris = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var fresh []string
	for _, uri := range uris {
		if len(b.uris) < maxWatched && !slices.Contains(b.uris, uri) {
			b.uris = append(b.uris, uri)
			fresh = append(fresh, uri)
		}
	}
	if b.Modern() {
		b.listen(fresh)
		return
	}
	for _, uri := range fresh {
		if _, err := b.Call(ctx, "resources/subscribe", session.Object{"uri": upstream.EncodeJSON(uri)}, session.Hooks{}); err != nil {
			b.Log.Debug("a resource cannot be watched", "uri", upstream.Shorten(uri), "err", err)
		}
	}
}

// listen makes a request that stays open and brings notices. The first one is
// for the lists too. None of them is replaced by another: some servers forget
// all that they were to tell when one of several such requests ends. b.mu is
// held.
func (b *baseSession) listen(uris []string) {
	can, notices := b.About.Capabilities, map[string]any{}
	for name, f := range map[string]*session.Feature{"toolsListChanged": can.Tools, "promptsListChanged": can.Prompts, "resourcesListChanged": can.Resources} {
		if f != nil && f.ListChanged && b.listens == 0 {
			notices[name] = true
		}
	}
	if len(uris) > 0 {
		notices["resourceSubscriptions"] = uris
	}
	if len(notices) == 0 || b.listens >= maxListens || b.life.Err() != nil {
		return
	}
	b.listens++
	params := session.Object{"notifications": upstream.EncodeJSON(notices)}
	b.running.Go(func() { // until end
		for pause := upstream.MinPause; ; pause = min(2*pause, upstream.MaxPause) {
			_, err := b.Call(b.life, "subscriptions/listen", params, session.Hooks{})
			if b.life.Err() != nil || b.Ended() {
				return
			}
			b.Log.Debug("the server no longer tells of changes", "err", err)
			if _, refused := errors.AsType[*jsonrpc.Error](err); refused || !upstream.Pause(b.life, pause) {
				return
			}
		}
	})
}

// close takes the requests back, waits until the server has been told, since
// some do not end while they have one open, and ends the session.
func (b *baseSession) close() {
	b.mu.Lock()
	b.cancel()
	b.mu.Unlock()
	b.running.Wait()
	b.Close()
}
