package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	minRefresh = time.Second // between two looks at the ledger for one viewer

	// MaxRefresh is when a stream looks again at the latest: agents come and go
	// without a notice.
	MaxRefresh = 3 * time.Second

	// KeepAlive is how often a stream sends a comment: proxies close a silent one.
	KeepAlive = 15 * time.Second
)

// streams are the open ones. A call costs each of them one attempt to fill a
// channel, and nothing while nobody looks.
type streams struct {
	count atomic.Int32
	mu    sync.Mutex
	wakes map[chan struct{}]bool
}

// JoinStreams returns a channel that gets a value when pages may have changed,
// until leave is called.
func (s *Server) JoinStreams() (wake <-chan struct{}, leave func()) {
	all, own := &s.streams, make(chan struct{}, 1)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.wakes == nil {
		all.wakes = map[chan struct{}]bool{}
	}
	all.wakes[own] = true
	all.count.Add(1)
	return own, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.wakes, own)
		all.count.Add(-1)
	}
}

// WakeStreams makes the open streams look for changes.
func (s *Server) WakeStreams() {
	all := &s.streams
	if all.count.Load() == 0 {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for wake := range all.wakes {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// OpenStreams counts them.
func (s *Server) OpenStreams() int { return int(s.streams.count.Load()) }

// StreamPage sends what render returns whenever that has changed. Every event
// is the whole state of what it replaces, and its id is a checksum of that
// state, so a browser that was away misses nothing and gets nothing twice.
func (s *Server) StreamPage(w http.ResponseWriter, r *http.Request, v *Visitor, render func(ctx context.Context) ([]byte, error)) error {
	ctx := r.Context()
	render = s.WithBadge(v, render)
	first, err := render(ctx) // while an error can still be a page
	if err != nil {
		return err
	}
	wake, leave := s.JoinStreams()
	defer leave()
	out := httpd.NewSSE(w)
	defer out.Close()
	out.KeepAlive(KeepAlive)
	last := r.Header.Get("Last-Event-ID")
	for body := first; ; {
		sum := sha256.Sum256(body)
		if id := hex.EncodeToString(sum[:8]); id != last {
			if out.Event("", id, body) != nil {
				return nil
			}
			last = id
		}
		if !waitForChange(ctx, wake) {
			return nil
		}
		if s.RefreshVisitor(ctx, v) != nil {
			return nil // signed out; the browser learns so when it tries again
		}
		if body, err = render(ctx); err != nil {
			if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "live updates of a page stopped", "path", r.URL.Path, "err", err)
			}
			return nil
		}
	}
}

// waitForChange waits until there may be something new; false when ctx is over.
func waitForChange(ctx context.Context, wake <-chan struct{}) bool {
	least, most := time.NewTimer(minRefresh), time.NewTimer(MaxRefresh)
	defer least.Stop()
	defer most.Stop()
	select {
	case <-least.C:
	case <-ctx.Done():
		return false
	}
	select {
	case <-wake:
	case <-most.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// WithBadge adds the number of waiting approvals to what a stream sends.
func (s *Server) WithBadge(v *Visitor, render func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		badge, err := s.RenderPart("error", "badge-live", s.countWaiting(ctx, v)) // every page has this part
		if err != nil {
			return nil, err
		}
		body, err := render(ctx)
		return append(badge, body...), err
	}
}

// streamBadge is the stream of pages that have none of their own.
func (s *Server) streamBadge(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	return s.StreamPage(w, r, v, func(context.Context) ([]byte, error) { return nil, nil })
}

// countWaiting is the number on the badge. A page without it is still a page,
// so an error only leaves it out.
func (s *Server) countWaiting(ctx context.Context, v *Visitor) int {
	if v.User.ID == "" || s.CountWaiting == nil {
		return 0
	}
	n, err := s.CountWaiting(ctx, v.User.ID)
	if err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "a page has no badge", "err", err)
	}
	return n
}
