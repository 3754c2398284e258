// Package stream tells clients what changes outside of calls: lists, resources,
// tasks and messages of a session. The hub notes what the bus brings on the
// streams that are open here; a follower passes it on for as long as its client
// may hear it.
package stream

import (
	"sync"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// Hub knows the streams that are open at this replica, by what they are about.
type Hub struct {
	mu         sync.Mutex
	topics     map[string]map[*Stream]struct{}
	principals map[string]int
}

func NewHub() *Hub {
	return &Hub{topics: map[string]map[*Stream]struct{}{}, principals: map[string]int{}}
}

// What a stream can be about.
const (
	TopicAgent   = "agent "
	TopicSession = "session "
	TopicTurn    = "turn "
)

const (
	streamsPerPrincipal = 100 // each costs some 30 KB
	PendingMax          = 256 // updates or messages that wait for a slow reader
)

// Stream is one open stream. What happens is noted here; the
// goroutine that serves it takes them.
type Stream struct {
	wake chan struct{} // holds one

	mu           sync.Mutex
	changed      bool                       // the agent
	resubscribed bool                       // what the session watches
	ended        bool                       // the session, or a reader too slow
	updated      []string                   // resources
	messages     [][]byte                   // ready to be sent
	turns        map[string]bool            // whose state may have changed
	members      map[string]*catalog.Server // of the union that it is about, by id
}

// Open registers a stream, unless its principal has too many already.
func (h *Hub) Open(principal string, topics ...string) (s *Stream, closeIt func(), err error) {
	s = &Stream{wake: make(chan struct{}, 1), turns: map[string]bool{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.principals[principal] >= streamsPerPrincipal {
		return nil, nil, &beeos.Error{Code: beeos.RateLimited, RetryAfter: wire.KeepAliveEvery, Message: "this credential has too many open streams: close some"}
	}
	h.principals[principal]++
	for _, topic := range topics {
		if h.topics[topic] == nil {
			h.topics[topic] = map[*Stream]struct{}{}
		}
		h.topics[topic][s] = struct{}{}
	}
	return s, func() { h.close(s, principal, topics) }, nil
}

func (h *Hub) close(s *Stream, principal string, topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.principals[principal]--; h.principals[principal] == 0 {
		delete(h.principals, principal)
	}
	for _, topic := range topics {
		delete(h.topics[topic], s)
		if len(h.topics[topic]) == 0 {
			delete(h.topics, topic)
		}
	}
}

// CountStreams returns how many streams a principal has open here.
func (h *Hub) CountStreams(principal string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.principals[principal]
}

// notify notes something on every stream about the topic and wakes it.
func (h *Hub) notify(topic string, note func(*Stream)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.topics[topic] {
		s.mu.Lock()
		note(s)
		s.mu.Unlock()
		s.wakeUp()
	}
}

func (s *Stream) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// NoteTurns has the stream look at the turns that it watches.
func (s *Stream) NoteTurns(watch *TaskWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for turn := range watch.Last {
		s.turns[turn] = true
	}
	s.wakeUp()
}

// SetMembers says whose updates the stream of a union is to note.
func (s *Stream) SetMembers(l *catalog.Lists) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members = l.MemberByAgent
}

// noteUpdate notes that a resource has changed; s.mu is held. Once is enough.
func (s *Stream) noteUpdate(uri string) {
	for _, known := range s.updated {
		if known == uri {
			return
		}
	}
	if len(s.updated) < PendingMax {
		s.updated = append(s.updated, uri)
	}
}

// queueMessage adds a message; s.mu is held. A reader that does not keep up is
// better off with a new stream than with holes in this one.
func (s *Stream) queueMessage(msg []byte) {
	if len(s.messages) >= PendingMax {
		s.ended = true
		return
	}
	s.messages = append(s.messages, msg)
}

// takeNoted returns what was noted since the last time.
func (s *Stream) takeNoted() (n noted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = noted{s.changed, s.resubscribed, s.ended, s.updated, s.messages, s.turns}
	s.changed, s.resubscribed, s.updated, s.messages = false, false, nil, nil
	s.turns = map[string]bool{}
	return n
}

type noted struct {
	changed, resubscribed, ended bool
	updated                      []string
	messages                     [][]byte
	turns                        map[string]bool
}
