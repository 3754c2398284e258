package bridge

import (
	"context"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// watchMost is how many resources are watched at a time.
const watchMost = 500

// watch asks the server to say when something changes: its lists, and the
// resources that were listed or read. An agent does not know what its callers
// watch, so it watches all that they may.
type watch struct {
	s *session

	mu     sync.Mutex
	uris   []string
	cancel context.CancelFunc // of the request that brings the notices; newest revision only
}

// all begins with the resources that the server lists.
func (w *watch) all(ctx context.Context, o offers) {
	var uris []string
	for _, r := range o.resources {
		if r.URI != "" {
			uris = append(uris, r.URI)
		}
	}
	w.add(ctx, uris, true)
}

// read adds one that somebody has read: a template can make any number.
func (w *watch) read(ctx context.Context, uri string) { w.add(ctx, []string{uri}, false) }

func (w *watch) add(ctx context.Context, uris []string, first bool) {
	can := w.s.about.Capabilities.Resources
	if can == nil || !can.Subscribe {
		uris = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var fresh []string
	for _, uri := range uris {
		if len(w.uris) < watchMost && !slices.Contains(w.uris, uri) {
			w.uris = append(w.uris, uri)
			fresh = append(fresh, uri)
		}
	}
	switch {
	case w.s.modern() && (first || fresh != nil):
		w.listen()
	case !w.s.modern():
		for _, uri := range fresh {
			if _, err := w.s.call(ctx, "resources/subscribe", object{"uri": encode(uri)}, hooks{}); err != nil {
				w.s.log.Debug("a resource cannot be watched", "uri", clip(uri), "err", err)
			}
		}
	}
}

// listen puts a request that stays open in place of the one before. w.mu is
// held.
func (w *watch) listen() {
	can, notices := w.s.about.Capabilities, map[string]any{}
	for name, f := range map[string]*feature{"toolsListChanged": can.Tools, "promptsListChanged": can.Prompts, "resourcesListChanged": can.Resources} {
		if f != nil && f.ListChanged {
			notices[name] = true
		}
	}
	if len(w.uris) > 0 {
		notices["resourceSubscriptions"] = w.uris
	}
	if len(notices) == 0 {
		return
	}
	before := w.cancel
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	params := object{"notifications": encode(notices)}
	w.s.spawn(func() {
		defer cancel()
		for pause := minPause; ; pause = min(2*pause, maxPause) {
			_, err := w.s.call(ctx, "subscriptions/listen", params, hooks{})
			if fault := (*jsonrpc.Error)(nil); ctx.Err() != nil || w.s.over() || asFault(err, &fault) {
				return
			}
			if !pauseFor(ctx, pause) {
				return
			}
		}
	})
	if before != nil {
		before()
	}
}

// end stops listening.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
}
