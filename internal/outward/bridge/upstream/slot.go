package upstream

import (
	"context"
	"sync"
)

// Slot holds what stands behind an agent while it is there, and has messages
// wait for it while it is not.
type Slot[T any] struct {
	mu    sync.Mutex
	held  *T
	ready chan struct{} // closed while there is something
}

// NewSlot returns an empty slot.
func NewSlot[T any]() *Slot[T] { return &Slot[T]{ready: make(chan struct{})} }

// Fill puts something into the slot, which is empty.
func (s *Slot[T]) Fill(v *T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = v
	close(s.ready)
}

// Empty takes v out of the slot and reports whether it was there.
func (s *Slot[T]) Empty(v *T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != v {
		return false
	}
	s.held, s.ready = nil, make(chan struct{})
	return true
}

// Wait returns what is in the slot, once there is something.
func (s *Slot[T]) Wait(ctx context.Context) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, StartWithin)
	defer cancel()
	for {
		s.mu.Lock()
		held, ready := s.held, s.ready
		s.mu.Unlock()
		if held != nil {
			return held, nil
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ErrAbsent
		}
	}
}
