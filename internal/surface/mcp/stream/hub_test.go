package stream

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestStreamsAreCapped: one credential cannot hold all the memory.
func TestStreamsAreCapped(t *testing.T) {
	h := NewHub()
	var leave func()
	for range streamsPerPrincipal {
		var err error
		if _, leave, err = h.Open("user:1", "agent a"); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := h.Open("user:1", "agent a"); beeos.CodeOf(err) != beeos.RateLimited {
		t.Error("one more: ", err)
	}
	if _, _, err := h.Open("user:2", "agent a"); err != nil {
		t.Error("somebody else: ", err)
	}
	leave()
	if _, _, err := h.Open("user:1", "agent a"); err != nil {
		t.Error("after one has left: ", err)
	}
}

// TestWaitingForAReaderIsBounded: what waits for a reader is bounded.
func TestWaitingForAReaderIsBounded(t *testing.T) {
	s := &Stream{turns: map[string]bool{}}
	for i := range 2 * PendingMax {
		s.noteUpdate(strings.Repeat("x", i%7))
		s.queueMessage([]byte("m"))
	}
	if n := s.takeNoted(); len(n.updated) != 7 || len(n.messages) != PendingMax || !n.ended {
		t.Errorf("%d updates, %d messages, ended %v", len(n.updated), len(n.messages), n.ended)
	}
}
