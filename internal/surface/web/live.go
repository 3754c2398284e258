package web

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
	liveAtMost  = time.Second      // between two looks at the ledger for one viewer
	liveAtLeast = 3 * time.Second  // agents come and go without a word, so they are looked for
	liveComment = 15 * time.Second // proxies close what is silent
)

// viewers are the open streams. A call costs them one attempt to fill a
// channel each, and nothing while nobody looks.
type viewers struct {
	count atomic.Int32
	mu    sync.Mutex
	wakes map[chan struct{}]bool
}

func (v *viewers) join() (wake chan struct{}, leave func()) {
	wake = make(chan struct{}, 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wakes == nil {
		v.wakes = map[chan struct{}]bool{}
	}
	v.wakes[wake] = true
	v.count.Add(1)
	return wake, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.wakes, wake)
		v.count.Add(-1)
	}
}

func (v *viewers) wake() {
	if v.count.Load() == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for wake := range v.wakes {
		select {
		case wake <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// stream sends what render gives whenever that has changed. Every event is
// the whole state of what it replaces and its id is a checksum of that, so a
// browser that was away misses nothing and gets nothing twice.
func (s *Site) stream(w http.ResponseWriter, r *http.Request, v *visit, render func(ctx context.Context) ([]byte, error)) error {
	ctx := r.Context()
	render = s.withBadge(v, render)
	first, err := render(ctx) // while an error can still be a page
	if err != nil {
		return err
	}
	wake, leave := s.viewers.join()
	defer leave()
	out := httpd.NewSSE(w)
	defer out.Close()
	out.KeepAlive(liveComment)
	last := r.Header.Get("Last-Event-ID")
	for body := first; ; {
		sum := sha256.Sum256(body)
		if id := hex.EncodeToString(sum[:8]); id != last {
			if out.Event("", id, body) != nil {
				return nil
			}
			last = id
		}
		if !s.pause(ctx, wake) {
			return nil
		}
		if v.User, _, err = s.People.Session(ctx, v.token); err != nil {
			return nil // signed out; the browser's next try is told so
		}
		if body, err = render(ctx); err != nil {
			if ctx.Err() == nil {
				s.Log.WarnContext(ctx, "a live page stopped", "path", r.URL.Path, "err", err)
			}
			return nil
		}
	}
}

// pause waits until there is something to look for; false when ctx is over.
func (s *Site) pause(ctx context.Context, wake chan struct{}) bool {
	least, most := time.NewTimer(liveAtMost), time.NewTimer(liveAtLeast)
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
