package oauthclient

import (
	"context"
	"fmt"
	"net/http"
)

const (
	mostStepUps = 3
	mostTries   = 8 // of one request; more than any honest server needs
)

// RoundTrip sends a request with the token of this server. When the server
// wants another one, it is got, and the request is sent again.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != t.url.Scheme || req.URL.Host != t.url.Host || req.URL.Path != t.url.Path {
		return nil, fmt.Errorf("%s is not the server that this token is for", req.URL.Host)
	}
	ctx := req.Context()
	s, err := t.loadSession(ctx)
	if err != nil {
		return nil, err
	}
	if s, err = t.renewIfExpiring(ctx, s); err != nil {
		return nil, err
	}
	authorized, nonced := false, false
	for try := 1; ; try++ {
		resp, err := t.sendWithToken(req, s)
		if err != nil {
			return nil, err
		}
		c := parseChallenge(resp)
		newNonce := t.keepNonce(req.URL, resp.Header)
		switch {
		case try == mostTries || req.Body != nil && req.GetBody == nil:
			return resp, nil
		case resp.StatusCode == http.StatusUnauthorized && s != nil && s.DPoP && newNonce && !nonced:
			nonced = true // the token is good; its proof lacked the server's nonce
			drainBody(resp)
			continue
		case resp.StatusCode == http.StatusUnauthorized && !authorized:
			authorized = true
		case resp.StatusCode == http.StatusForbidden && c.fault == "insufficient_scope" && t.mayStepUp(s, c):
		default:
			if resp.StatusCode < 300 {
				t.resetStepUps()
			}
			return resp, nil
		}
		drainBody(resp)
		if s, err = t.authorize(ctx, c, s); err != nil {
			return nil, err
		}
		nonced = false
	}
}

// sendWithToken sends a copy of the request, with the session's token alone.
func (t *Transport) sendWithToken(req *http.Request, s *Session) (*http.Response, error) {
	out := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	out.Header.Del("Authorization")
	out.Header.Del("Cookie")
	if s != nil && s.Access != "" {
		scheme := "Bearer "
		if s.DPoP {
			scheme = "DPoP "
			proof, err := t.newProof(s.Key, out.Method, out.URL, s.Access)
			if err != nil {
				return nil, err
			}
			out.Header.Set("DPoP", proof)
		}
		out.Header.Set("Authorization", scheme+s.Access)
	}
	return t.opt.Base.RoundTrip(out)
}

// mayStepUp reports whether it is worth asking for more scopes: a server that
// refuses what it asked for would be asked for ever.
func (t *Transport) mayStepUp(s *Session, c challenge) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s == nil || len(c.scopes) == 0 || containsAll(c.scopes, s.Asked) || t.stepUps >= mostStepUps {
		return false
	}
	t.stepUps++
	return true
}

func (t *Transport) resetStepUps() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stepUps = 0
}

// renewIfExpiring renews a token that is about to expire, if it can be without asking
// anybody. If it cannot, the server's refusal leads on.
func (t *Transport) renewIfExpiring(ctx context.Context, s *Session) (*Session, error) {
	if s == nil || s.Expires.IsZero() || t.opt.Now().Before(s.Expires.Add(-renewBefore)) || s.Refresh == "" {
		return s, nil
	}
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer t.turn.Release(1)
	if now := t.currentSession(); now != s {
		return now, nil // somebody else has
	}
	if kept, err := t.opt.Vault.With(ctx, s.Issuer); err == nil && kept != nil && kept.Access != "" && kept.Refresh != s.Refresh {
		return t.useSession(kept), nil // another node has: ours is spent, and to send it again looks like theft
	}
	renewed, err := t.refreshToken(ctx, *s)
	if err != nil {
		return s, nil //nolint:nilerr // the old one is tried, and then the server says what it wants
	}
	return t.keepSession(ctx, renewed)
}

func (t *Transport) currentSession() *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// keepSession makes a session the one that is used.
func (t *Transport) keepSession(ctx context.Context, s Session) (*Session, error) {
	if err := t.opt.Vault.Put(ctx, s); err != nil {
		return nil, err
	}
	return t.useSession(&s), nil
}

func (t *Transport) useSession(s *Session) *Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.loaded, t.refused = s, true, nil
	return s
}
