package issuer

import (
	"context"
	"sync"

	"github.com/beeos/beeos/internal/outward/oauthclient"
)

// Vault keeps the sessions of a client, and forgets them when the process ends.
type Vault struct {
	mu       sync.Mutex
	sessions map[string]oauthclient.Session
	last     string
}

// Last is the session that was put last.
func (v *Vault) Last(ctx context.Context) (*oauthclient.Session, error) {
	v.mu.Lock()
	last := v.last
	v.mu.Unlock()
	return v.With(ctx, last)
}

// With is the session with an issuer.
func (v *Vault) With(_ context.Context, issuer string) (*oauthclient.Session, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.sessions[issuer]
	if !ok {
		return nil, nil
	}
	return &s, nil
}

// Put keeps a session.
func (v *Vault) Put(_ context.Context, s oauthclient.Session) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.sessions == nil {
		v.sessions = map[string]oauthclient.Session{}
	}
	v.sessions[s.Issuer], v.last = s, s.Issuer
	return nil
}
