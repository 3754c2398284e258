package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
)

const (
	visitsMost = 64              // sessions for callers who can be asked, at a time
	visitIdle  = 5 * time.Minute // after which one that nobody uses ends
)

// errFull is for a caller who has to come back later.
var errFull = errors.New("too many callers are talking to the program behind this agent; try again later")

// visits are the sessions of callers who can be asked something in the middle
// of a call, one per caller's session. A server of the older revisions does
// not say which call its question belongs to; here it can be one caller's only.
type visits struct {
	open func(ctx context.Context, can session.Object) (*session.Session, error)
	now  func() time.Time

	mu    sync.Mutex
	byKey map[string]*visit
}

// visit is one such session.
type visit struct {
	ready chan struct{} // closed when s or err is there
	s     *session.Session
	err   error

	users int
	last  time.Time
}

// enter returns the session of key, after opening it if there is none, and
// what to call when it is no longer used.
func (v *visits) enter(ctx context.Context, key string, can session.Object) (*session.Session, func(), error) {
	v.mu.Lock()
	one := v.byKey[key]
	if one != nil && one.s != nil && one.s.Over() {
		delete(v.byKey, key)
		one = nil
	}
	if one != nil {
		one.users++
		v.mu.Unlock()
		select {
		case <-one.ready:
		case <-ctx.Done():
			v.leave(one)
			return nil, nil, context.Cause(ctx)
		}
		if one.err != nil {
			v.leave(one)
			return nil, nil, one.err
		}
		return one.s, func() { v.leave(one) }, nil
	}
	old, ok := v.room()
	if !ok {
		v.mu.Unlock()
		return nil, nil, errFull
	}
	one = &visit{ready: make(chan struct{}), users: 1, last: v.now()}
	v.byKey[key] = one
	v.mu.Unlock()
	if old != nil {
		old.Close()
	}
	// Others may be waiting for it: the first caller's leaving is no reason.
	s, err := v.open(context.WithoutCancel(ctx), can)
	v.mu.Lock()
	one.s, one.err = s, err
	if err != nil {
		delete(v.byKey, key)
	}
	v.mu.Unlock()
	close(one.ready)
	if err != nil {
		return nil, nil, err
	}
	return s, func() { v.leave(one) }, nil
}

func (v *visits) leave(one *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one.users--
	one.last = v.now()
}

// room makes place for one more, if need be by taking away the one that has
// been idle the longest. v.mu is held.
func (v *visits) room() (old *session.Session, ok bool) {
	if len(v.byKey) < visitsMost {
		return nil, true
	}
	oldest := ""
	for key, one := range v.byKey {
		if one.users == 0 && one.s != nil && (oldest == "" || one.last.Before(v.byKey[oldest].last)) {
			oldest = key
		}
	}
	if oldest == "" {
		return nil, false
	}
	old = v.byKey[oldest].s
	delete(v.byKey, oldest)
	return old, true
}

// sweep ends the sessions that nobody uses any more.
func (v *visits) sweep() { v.endIf(func(one *visit) bool { return v.now().Sub(one.last) > visitIdle }) }

// end ends all of them.
func (v *visits) end() { v.endIf(func(*visit) bool { return true }) }

func (v *visits) endIf(old func(*visit) bool) {
	var ending []*session.Session
	v.mu.Lock()
	for key, one := range v.byKey {
		if one.s != nil && (one.users == 0 && old(one) || one.s.Over() && one.users == 0) {
			delete(v.byKey, key)
			ending = append(ending, one.s)
		}
	}
	v.mu.Unlock()
	for _, s := range ending {
		s.Close()
	}
}
