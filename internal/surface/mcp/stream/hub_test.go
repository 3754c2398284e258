package stream

import (
	"strings"
	"testing"
)

// TestWaitingForAReaderIsBounded: what waits for a reader is bounded.
func TestWaitingForAReaderIsBounded(t *testing.T) {
	s := &Stream{noted: noted{turns: map[string]bool{}}}
	for i := range 2 * PendingMax {
		s.noteUpdate(strings.Repeat("x", i%7))
		s.queueMessage([]byte("m"))
	}
	if n := s.takeNoted(); len(n.updated) != 7 || len(n.messages) != PendingMax || !n.ended {
		t.Errorf("%d updates, %d messages, ended %v", len(n.updated), len(n.messages), n.ended)
	}
}
