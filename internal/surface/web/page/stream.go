package page

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	minRefresh = time.Second // between two looks at the ledger for one viewer

	// fastStreams is how many streams of one person look as often as they may.
	// More of them share that: what one person's streams cost is bounded, and
	// the rest of the machine is there for others.
	fastStreams = 8

	// MaxRefresh is when a stream looks again at the latest: agents come and go
	// without a notice.
	MaxRefresh = 3 * time.Second

	// KeepAlive is how often a stream sends a comment: proxies close a silent one.
	KeepAlive = 15 * time.Second
)

// streams are the open ones. A call costs each of them one attempt to fill a
// channel.
type streams struct {
	mu    sync.Mutex
	wakes map[chan struct{}]bool
}

// JoinStreams returns a channel that gets a value when pages may have changed,
// until leave is called.
func (s *Server) JoinStreams() (wake <-chan struct{}, leave func()) {
	all, own := &s.streams, make(chan struct{}, 1)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.wakes[own] = true
	return own, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		delete(all.wakes, own)
	}
}

// WakeStreams makes the open streams look for changes.
func (s *Server) WakeStreams() {
	all := &s.streams
	all.mu.Lock()
	defer all.mu.Unlock()
	for wake := range all.wakes {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// OpenStream makes the answer a stream, if the visitor has not too many. It ends
// when they are signed out: the request's context is over then. Close it in the
// end.
func (s *Server) OpenStream(r *Request) (*auth.Stream, error) {
	parent, caller, token := r.Context(), r.Caller(), r.token
	open, ctx := s.Streams.Open(parent, caller, func() (beeos.Caller, error) {
		if token == "" {
			return caller, nil // of a page for anyone
		}
		_, _, err := s.People.FindSession(parent, token)
		return caller, err
	})
	if err := open.Follow(); err != nil {
		open.Close()
		return nil, err
	}
	r.Request = r.WithContext(ctx)
	return open, nil
}

// Pace stretches the time between two looks for a visitor with many streams.
func (s *Server) Pace(v *Visitor, between time.Duration) time.Duration {
	return between * time.Duration(1+s.Streams.Count(v.User.ID)/fastStreams)
}

// Live streams the part "live" of the page that load returns, whenever that has
// changed. Every event is the whole state of what it replaces, and its id is a
// checksum of that state, so a browser that was away misses nothing and gets
// nothing twice.
func Live(load Action) Action {
	return func(*Request) (Answer, error) { return stream(load), nil }
}

type stream Action

func (load stream) write(s *Server, r *Request) error {
	open, err := s.OpenStream(r)
	if err != nil {
		return err
	}
	defer open.Close()
	ctx := r.Context()
	body, err := s.RenderLive(r, Action(load)) // while an error can still be a page
	if err != nil {
		return err
	}
	wake, leave := s.JoinStreams()
	defer leave()
	out := httpd.NewSSE(r.w)
	defer out.Close()
	out.KeepAlive(KeepAlive)
	for last := r.Header.Get("Last-Event-ID"); ; {
		sum := sha256.Sum256(body)
		if id := hex.EncodeToString(sum[:8]); id != last {
			if out.Event("", id, body) != nil {
				return nil
			}
			last = id
		}
		if !waitForChange(ctx, wake, s.Pace(r.Visitor, minRefresh)) {
			return nil
		}
		if s.RefreshVisitor(ctx, r.Visitor) != nil {
			return nil // signed out; the browser learns so when it tries again
		}
		if body, err = s.RenderLive(r, Action(load)); err != nil {
			if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "live updates of a page stopped", "path", r.URL.Path, "err", err)
			}
			return nil
		}
	}
}

// RenderLive renders the part "live" of the page that load returns, if it has
// one, and the number of waiting approvals, which every page has.
func (s *Server) RenderLive(r *Request, load Action) ([]byte, error) {
	answer, err := load(r)
	if err != nil {
		return nil, err
	}
	p := answer.(View) // nothing else has parts
	badge, err := s.RenderPart(p.Page, "badge-live", s.countWaiting(r))
	if err != nil {
		return nil, err
	}
	if t, err := s.findPage(p.Page); err != nil || t.Lookup("live") == nil {
		return badge, err
	}
	body, err := s.RenderPart(p.Page, "live", p.Data)
	return append(badge, body...), err
}

// waitForChange waits until there may be something new, at least for that long;
// false when ctx is over.
func waitForChange(ctx context.Context, wake <-chan struct{}, least time.Duration) bool {
	select {
	case <-time.After(least):
	case <-ctx.Done():
		return false
	}
	select {
	case <-wake:
	case <-time.After(MaxRefresh):
	case <-ctx.Done():
		return false
	}
	return true
}

// countWaiting is the number on the badge. A page without it is still a page,
// so an error only leaves it out.
func (s *Server) countWaiting(r *Request) int {
	if r.User.ID == "" || s.CountWaiting == nil {
		return 0
	}
	n, err := s.CountWaiting(r.Context(), r.User.ID)
	if err != nil && r.Context().Err() == nil {
		s.Log.WarnContext(r.Context(), "a page has no badge", "err", err)
	}
	return n
}
