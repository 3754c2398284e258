package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
)

const (
	maxCallerSessions = 64              // sessions for callers who can be asked, at a time
	callerSessionIdle = 5 * time.Minute // after which one that nobody uses ends
)

// errTooManyCallers is for a caller who has to come back later.
var errTooManyCallers = errors.New("too many callers are talking to the program behind this agent; try again later")

// callerSessions are the sessions of callers who can be asked something in the
// middle of a call, one per caller's session. A server of the older revisions
// does not say which call its question belongs to; here it can be one caller's
// only.
type callerSessions struct {
	open func(ctx context.Context, can session.Object) (*session.Session, error)
	now  func() time.Time

	mu    sync.Mutex
	byKey map[string]*callerSession
}

// callerSession is one such session.
type callerSession struct {
	ready chan struct{} // closed when s or err is there
	s     *session.Session
	err   error

	users int
	last  time.Time
}

// acquire returns the session of key, after opening it if there is none, and
// what to call when it is no longer used.
func (v *callerSessions) acquire(ctx context.Context, key string, can session.Object) (*session.Session, func(), error) {
	v.mu.Lock()
	one := v.byKey[key]
	if one != nil && one.s != nil && one.s.Ended() {
		delete(v.byKey, key)
		one = nil
	}
	if one != nil {
		one.users++
		v.mu.Unlock()
		select {
		case <-one.ready:
		case <-ctx.Done():
			v.release(one)
			return nil, nil, context.Cause(ctx)
		}
		if one.err != nil {
			v.release(one)
			return nil, nil, one.err
		}
		return one.s, func() { v.release(one) }, nil
	}
	old, ok := v.makeRoom()
	if !ok {
		v.mu.Unlock()
		return nil, nil, errTooManyCallers
	}
	one = &callerSession{ready: make(chan struct{}), users: 1, last: v.now()}
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
	return s, func() { v.release(one) }, nil
}

func (v *callerSessions) release(one *callerSession) {
	v.mu.Lock()
	defer v.mu.Unlock()
	one.users--
	one.last = v.now()
}

// makeRoom makes place for one more, if need be by taking away the one that has
// been idle the longest. v.mu is held.
func (v *callerSessions) makeRoom() (old *session.Session, ok bool) {
	if len(v.byKey) < maxCallerSessions {
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

// closeIdle ends the sessions that nobody uses any more.
func (v *callerSessions) closeIdle() {
	v.closeUnused(func(one *callerSession) bool { return v.now().Sub(one.last) > callerSessionIdle })
}

// closeAll ends all of them.
func (v *callerSessions) closeAll() { v.closeUnused(func(*callerSession) bool { return true }) }

func (v *callerSessions) closeUnused(old func(*callerSession) bool) {
	var ending []*session.Session
	v.mu.Lock()
	for key, one := range v.byKey {
		if one.s != nil && one.users == 0 && (old(one) || one.s.Ended()) {
			delete(v.byKey, key)
			ending = append(ending, one.s)
		}
	}
	v.mu.Unlock()
	for _, s := range ending {
		s.Close()
	}
}
