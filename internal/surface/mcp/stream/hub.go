// Package stream tells clients what changes outside of calls: lists, resources,
// tasks and messages of a session. The hub notes what the bus brings on the
// streams that are open here; a follower passes it on for as long as its client
// may hear it.
package stream

import (
	"slices"
	"sync"

	"github.com/beeos/beeos/internal/surface/mcp/catalog"
)

// Hub knows the streams that are open at this replica, by what they are about.
type Hub struct {
	mu     sync.Mutex
	topics map[string]map[*Stream]struct{}
}

func NewHub() *Hub {
	return &Hub{topics: map[string]map[*Stream]struct{}{}}
}

// What a stream can be about.
const (
	TopicAgent   = "agent "
	TopicSession = "session "
	TopicTurn    = "turn "
)

// PendingMax is how many updates or messages wait for a slow reader.
const PendingMax = 256

// Stream is one open stream. What happens is noted here; the goroutine that
// serves it takes that.
type Stream struct {
	wake chan struct{} // holds one

	mu sync.Mutex
	noted
	members map[string]*catalog.Server // of the union that it is about, by id
}

// noted is what has happened since the stream's goroutine last looked.
type noted struct {
	changed      bool            // the agent
	resubscribed bool            // what the session watches
	ended        bool            // the session, or a reader too slow
	updated      []string        // resources
	messages     [][]byte        // ready to be sent
	turns        map[string]bool // whose state may have changed
}

// Open registers a stream. How many a credential may have is decided elsewhere.
func (h *Hub) Open(topics ...string) (s *Stream, closeIt func()) {
	s = &Stream{wake: make(chan struct{}, 1), noted: noted{turns: map[string]bool{}}}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		if h.topics[topic] == nil {
			h.topics[topic] = map[*Stream]struct{}{}
		}
		h.topics[topic][s] = struct{}{}
	}
	return s, func() { h.close(s, topics) }
}

func (h *Hub) close(s *Stream, topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		delete(h.topics[topic], s)
		if len(h.topics[topic]) == 0 {
			delete(h.topics, topic)
		}
	}
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

// NoteTurns has the stream look at the tasks that it watches.
func (s *Stream) NoteTurns(tasks map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for turn := range tasks {
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
	if !slices.Contains(s.updated, uri) && len(s.updated) < PendingMax {
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
	n = s.noted
	s.noted = noted{ended: n.ended, turns: map[string]bool{}}
	return n
}
