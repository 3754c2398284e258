package auth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// How many streams may be open at one node that nothing but their reader ends:
// events of channels and tasks, what changes at an MCP server, live pages. Each
// costs some 30 KB and a look at the database now and then. Streams of calls end
// with their calls, which the quota of calls bounds.
const (
	followsPerCredential = 100
	followsPerUser       = 200 // all credentials of a person together, the keys of their agents included

	tryLater = 15 * time.Second
)

// Streams are the responses under way that can outlive their credential, on
// whichever surface. They are counted here, and here they end when their
// credential does.
type Streams struct {
	mu      sync.Mutex
	last    *Stream        // of those that are open, a list: every call comes and goes
	follows map[string]int // by credential, and by user
}

// NewStreams returns an empty set.
func NewStreams() *Streams { return &Streams{follows: map[string]int{}} }

// Stream is one of them. Its context is over when its credential is.
type Stream struct {
	set    *Streams
	caller beeos.Caller
	check  func() (beeos.Caller, error) // who holds the credential now
	agent  *beeos.Agent                 // whom it is about; nil = no single one
	ctx    context.Context
	cancel context.CancelCauseFunc
	// set.mu
	follows        bool // it is counted
	earlier, later *Stream
}

// Open registers a stream whose work runs in the context that it returns.
// check says whether its credential is still good. Close it in the end.
func (s *Streams) Open(ctx context.Context, c beeos.Caller, check func() (beeos.Caller, error)) (*Stream, context.Context) {
	st := &Stream{set: s, caller: c, check: check}
	return st, st.register(ctx)
}

func (st *Stream) register(ctx context.Context) context.Context {
	st.ctx, st.cancel = context.WithCancelCause(ctx)
	s := st.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.earlier = s.last; s.last != nil {
		s.last.later = st
	}
	s.last = st
	return st.ctx
}

// OpenStream registers the response to a request as a stream, for the credential
// that the request came with. With an agent, the stream also ends when that is
// out of the credential's reach. The request that it returns is the one to go
// on with: its context is the stream's.
func (a *Authenticator) OpenStream(r *http.Request, at Audience, c beeos.Caller, agent *beeos.Agent) (*Stream, *http.Request) {
	st := &Stream{set: a.Streams, caller: c, agent: agent, check: func() (beeos.Caller, error) { return a.Authenticate(r, at) }}
	return st, r.WithContext(st.register(r.Context()))
}

// Follow counts the stream among those that nothing but their reader ends. It
// fails when there are too many already.
func (st *Stream) Follow() error {
	s := st.set
	s.mu.Lock()
	defer s.mu.Unlock()
	credential, user := st.counters()
	if s.follows[credential] >= followsPerCredential || s.follows[user] >= followsPerUser {
		return &beeos.Error{
			Code: beeos.RateLimited, RetryAfter: tryLater,
			Message: "too many streams are open with this credential, or with all of its owner's together: close some",
		}
	}
	if !st.follows {
		st.follows = true
		s.follows[credential]++
		s.follows[user]++
	}
	return nil
}

func (st *Stream) counters() (credential, user string) {
	return "credential " + st.caller.CredentialID, "user " + st.caller.UserID
}

// Check is asked before something is sent: it returns why the credential is no
// good any more, and ends the stream then. Where nobody can tell at the moment,
// it is still good.
func (st *Stream) Check() error {
	if err := st.Err(); err != nil {
		return err
	}
	now, err := st.check()
	if err == nil && st.agent != nil && !now.MayReach(st.agent) {
		err = beeos.Errorf(beeos.Unauthorized, "this credential no longer reaches the agent")
	}
	if !refused(err) {
		return nil
	}
	st.cancel(err)
	return st.Err()
}

// refused tells that a credential is no good from that it could not be looked up.
func refused(err error) bool {
	switch beeos.CodeOf(err) {
	case beeos.InvalidToken, beeos.MissingToken, beeos.Unauthorized, beeos.Forbidden:
		return true
	case beeos.RateLimited: // its address sends too many that are no good
		return true
	}
	return false
}

// Err returns why the stream was ended for its credential; nil when that is
// good, or when something else ended it.
func (st *Stream) Err() error {
	if err, ok := context.Cause(st.ctx).(*beeos.Error); ok {
		return err
	}
	return nil
}

// Close takes the stream out of the set.
func (st *Stream) Close() {
	st.cancel(nil)
	s := st.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(st)
	if !st.follows {
		return
	}
	st.follows = false
	credential, user := st.counters()
	for _, key := range []string{credential, user} {
		if s.follows[key]--; s.follows[key] == 0 {
			delete(s.follows, key)
		}
	}
}

// remove takes st out of the list, once; s.mu is held.
func (s *Streams) remove(st *Stream) {
	switch {
	case st.later != nil:
		st.later.earlier = st.earlier
	case s.last == st:
		s.last = st.earlier
	default:
		return // it is not there any more
	}
	if st.earlier != nil {
		st.earlier.later = st.later
	}
	st.earlier, st.later = nil, nil
}

// Recheck ends those streams of a key, a grant, a user or an agent whose
// credential is no good any more; "" = look at all. It does not wait for that.
func (s *Streams) Recheck(id string) {
	var found []*Stream
	s.mu.Lock()
	for st := s.last; st != nil; st = st.earlier {
		if id == "" || st.concerns(id) {
			found = append(found, st)
		}
	}
	s.mu.Unlock()
	if len(found) == 0 {
		return
	}
	go func() { // one after the other: what the first one reads is cached for the rest
		for _, st := range found {
			st.Check() //nolint:errcheck // it has ended the stream
		}
	}()
}

// concerns reports whether the stream's credential may depend on a key, grant,
// user or agent. An app's caller does not say of which family its token is.
func (st *Stream) concerns(id string) bool {
	c := &st.caller
	return c.CredentialID == id || c.UserID == id || c.AgentID == id || c.IsApp()
}

// Count returns how many streams a user follows here.
func (s *Streams) Count(userID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follows["user "+userID]
}
