package mcp

import (
	"context"
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

// subscriptions asks the server to say when something changes: its lists, and
// the resources that were listed or read. An agent does not know what its
// callers watch, so it watches all that they may.
type subscriptions struct {
	s       *session.Session
	life    context.Context // of the requests that bring the notices; newest revision only
	cancel  context.CancelFunc
	running sync.WaitGroup // those requests

	mu      sync.Mutex
	uris    []string
	listens int
}

func newSubscriptions(s *session.Session) *subscriptions {
	w := &subscriptions{s: s}
	w.life, w.cancel = context.WithCancel(context.Background())
	return w
}

// addOffers watches the lists, and the resources that are in them.
func (w *subscriptions) addOffers(ctx context.Context, o session.Offers) {
	var uris []string
	for _, r := range o.Resources {
		if r.URI != "" {
			uris = append(uris, r.URI)
		}
	}
	w.subscribe(ctx, uris)
}

// addResource adds one that somebody has read: a template can make any number.
func (w *subscriptions) addResource(ctx context.Context, uri string) { w.subscribe(ctx, []string{uri}) }

func (w *subscriptions) subscribe(ctx context.Context, uris []string) {
	if can := w.s.About.Capabilities.Resources; can == nil || !can.Subscribe {
		uris = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var fresh []string
	for _, uri := range uris {
		if len(w.uris) < maxWatched && !slices.Contains(w.uris, uri) {
			w.uris = append(w.uris, uri)
			fresh = append(fresh, uri)
		}
	}
	if w.s.Modern() {
		w.listen(fresh)
		return
	}
	for _, uri := range fresh {
		if _, err := w.s.Call(ctx, "resources/subscribe", session.Object{"uri": upstream.EncodeJSON(uri)}, session.Hooks{}); err != nil {
			w.s.Log.Debug("a resource cannot be watched", "uri", upstream.Shorten(uri), "err", err)
		}
	}
}

// listen makes a request that stays open and brings notices. The first one is
// for the lists too. None of them is replaced by another: some servers forget
// all that they were to tell when one of several such requests ends. w.mu is
// held.
func (w *subscriptions) listen(uris []string) {
	can, notices := w.s.About.Capabilities, map[string]any{}
	for name, f := range map[string]*session.Feature{"toolsListChanged": can.Tools, "promptsListChanged": can.Prompts, "resourcesListChanged": can.Resources} {
		if f != nil && f.ListChanged && w.listens == 0 {
			notices[name] = true
		}
	}
	if len(uris) > 0 {
		notices["resourceSubscriptions"] = uris
	}
	if len(notices) == 0 || w.listens >= maxListens || w.life.Err() != nil {
		return
	}
	w.listens++
	params := session.Object{"notifications": upstream.EncodeJSON(notices)}
	w.running.Go(func() { // until end
		for pause := upstream.MinPause; ; pause = min(2*pause, upstream.MaxPause) {
			_, err := w.s.Call(w.life, "subscriptions/listen", params, session.Hooks{})
			if w.life.Err() != nil || w.s.Ended() {
				return
			}
			w.s.Log.Debug("the server no longer tells of changes", "err", err)
			if fault := (*jsonrpc.Error)(nil); isFault(err, &fault) || !upstream.Pause(w.life, pause) {
				return
			}
		}
	})
}

// close takes the requests back and waits until the server has been told: some
// do not end while they have one open.
func (w *subscriptions) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.running.Wait()
}
