package oauthclient

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/beeos/beeos"
)

const (
	renewBefore = 30 * time.Second // before it expires, a token is renewed
	refusedFor  = 5 * time.Second  // how long one refusal answers for all
)

// authorize gets a token that answers the challenge; failed is the session
// that did not. Of many who need one, one asks.
func (t *Transport) authorize(ctx context.Context, c challenge, failed *Session) (*Session, error) {
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer t.turn.Release(1)
	t.mu.Lock()
	now, refused, since := t.current, t.refused, t.opt.Now().Sub(t.refusedAt)
	t.mu.Unlock()
	switch {
	case now != failed && now != nil:
		return now, nil // somebody else has, meanwhile
	case refused != nil && since < refusedFor:
		return nil, refused
	}
	s, err := t.obtainToken(ctx, c, failed)
	if err != nil {
		if ctx.Err() == nil {
			t.mu.Lock()
			t.refused, t.refusedAt = err, t.opt.Now()
			t.mu.Unlock()
		}
		return nil, err
	}
	return t.keepSession(ctx, s)
}

// obtainToken gets a token by the client's grant.
func (t *Transport) obtainToken(ctx context.Context, c challenge, failed *Session) (Session, error) {
	s, r, i, err := t.prepareSession(ctx, c)
	if err != nil {
		return s, err
	}
	// A token that has merely expired is renewed, unless more is asked of it.
	if failed != nil && failed.Issuer == s.Issuer && s.Refresh != "" && containsAll(c.scopes, s.Asked) {
		if renewed, err := t.refreshToken(ctx, s); err == nil {
			return renewed, nil
		}
		s.Refresh = ""
	}
	s.Asked = t.scopesToAsk(c, r, s)
	switch t.opt.Client.Grant {
	case ClientCredentials:
		return t.requestToken(ctx, s, url.Values{"grant_type": {"client_credentials"}})
	case JWTBearer:
		return t.requestTokenFor(ctx, s, t.opt.Client.Assertion)
	case IDJAG:
		return t.requestTokenFor(ctx, s, func(ctx context.Context, _ string) (string, error) { return t.exchangeIDToken(ctx, s) })
	}
	if t.opt.Consent == nil {
		return s, beeos.Errorf(beeos.Unauthorized, "the skill server wants its owner's consent: the owner of this agent can give it in the console, at the agent's skills")
	}
	p, err := t.beginConsent(ctx, s, i)
	if err != nil {
		return s, err
	}
	query, err := t.opt.Consent(ctx, p)
	if err != nil {
		return s, err
	}
	return t.completeConsent(ctx, p, query)
}

// prepareSession finds out who may let the client in, and what is known of that
// issuer already: nothing of another's is taken along.
func (t *Transport) prepareSession(ctx context.Context, c challenge) (s Session, r resource, i issuer, err error) {
	if r, i, err = t.discoverIssuer(ctx, c); err != nil {
		return s, r, i, err
	}
	if err := t.checkOwnIssuer(ctx, i.Issuer); err != nil {
		return s, r, i, err
	}
	known, err := t.opt.Vault.With(ctx, i.Issuer)
	if err != nil {
		return s, r, i, err
	}
	if known != nil {
		s = *known
	}
	s.Issuer, s.Resource, s.TokenURL, s.Methods = i.Issuer, r.Resource, i.TokenURL, i.Methods
	if slices.Contains(i.DPoP, dpopAlg) && (c.dpop || r.DPoP) {
		s.DPoP = true
		if s.Key == nil {
			if s.Key, err = newTokenKey(); err != nil {
				return s, r, i, err
			}
		}
	}
	return s, r, i, nil
}

// checkOwnIssuer keeps credentials that the owner brought from going to an issuer
// that they are not for.
func (t *Transport) checkOwnIssuer(ctx context.Context, issuer string) error {
	own := t.opt.Client
	if own.ID == "" {
		return nil
	}
	want := own.Issuer
	if want == "" {
		last, err := t.opt.Vault.Last(ctx)
		if err != nil || last == nil {
			return err
		}
		want = last.Issuer
	}
	if want != issuer {
		return unusableError("it now names another authorization server than the one that this client is registered with; if that is right, change the skill's issuer")
	}
	return nil
}

// scopesToAsk returns what to ask for: all that was asked for before, what the refusal
// names or else all that there are, and what the owner wants.
func (t *Transport) scopesToAsk(c challenge, r resource, s Session) []string {
	need := c.scopes
	if len(need) == 0 {
		need = r.Scopes
	}
	return mergeScopes(s.Asked, need, t.opt.Client.Scopes)
}
