package oauthclient

import (
	"context"
	"sync"
)

// Memory is a vault that forgets when the process ends.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]Session
	last     string
}

// Last is the session that was put last.
func (m *Memory) Last(ctx context.Context) (*Session, error) {
	m.mu.Lock()
	last := m.last
	m.mu.Unlock()
	return m.With(ctx, last)
}

// With is the session with an issuer.
func (m *Memory) With(_ context.Context, issuer string) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[issuer]
	if !ok {
		return nil, nil
	}
	return &s, nil
}

// Put keeps a session.
func (m *Memory) Put(_ context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions == nil {
		m.sessions = map[string]Session{}
	}
	m.sessions[s.Issuer], m.last = s, s.Issuer
	return nil
}
