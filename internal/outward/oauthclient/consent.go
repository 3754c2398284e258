package oauthclient

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/beeos/beeos"
)

// Pending is a person on the way to an authorization server. It is kept until
// they come back, sealed: Verifier and Session are secrets.
type Pending struct {
	URL      string  `json:"url"`   // where to send the person
	State    string  `json:"state"` // what they come back with
	Verifier string  `json:"verifier"`
	Session  Session `json:"session"`
	Iss      bool    `json:"iss"` // the issuer names itself in its answer
}

const probeBody = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"beeos","version":"1"}}}`

// Start asks the server what it wants and returns where a person can give it.
func (t *Transport) Start(ctx context.Context) (Pending, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.opt.URL, strings.NewReader(probeBody))
	if err != nil {
		return Pending{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := t.http.Do(req)
	if err != nil {
		return Pending{}, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the skill server cannot be reached; check that it runs and that its address is right")
	}
	drainBody(resp)
	if resp.StatusCode != http.StatusUnauthorized {
		return Pending{}, beeos.Errorf(beeos.Conflict, "the skill server asks for no authorization; there is nothing to consent to")
	}
	c := parseChallenge(resp)
	s, r, i, err := t.prepareSession(ctx, c)
	if err != nil {
		return Pending{}, err
	}
	s.Asked = t.scopesToAsk(c, r, s)
	return t.beginConsent(ctx, s, i)
}

// Finish takes what the person came back with. The token is in the vault then.
func (t *Transport) Finish(ctx context.Context, p Pending, query url.Values) error {
	if err := t.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.turn.Release(1)
	s, err := t.completeConsent(ctx, p, query)
	if err != nil {
		return err
	}
	_, err = t.keepSession(ctx, s)
	return err
}

// beginConsent prepares an authorization request (RFC 6749, with PKCE and resource).
func (t *Transport) beginConsent(ctx context.Context, s Session, i issuer) (Pending, error) {
	if i.AuthorizeURL == "" || !slices.Contains(i.Challenges, "S256") {
		return Pending{}, unusableError("its authorization server does not support PKCE with S256")
	}
	if err := t.ensureRegistered(ctx, &s, i); err != nil {
		return Pending{}, err
	}
	if slices.Contains(i.Scopes, "offline_access") {
		s.Asked = mergeScopes(s.Asked, []string{"offline_access"})
	}
	p := Pending{State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Session: s, Iss: i.Iss}
	request := oauth2.Config{
		ClientID: t.registrationAt(s).ClientID, Endpoint: oauth2.Endpoint{AuthURL: i.AuthorizeURL}, RedirectURL: t.opt.Client.Redirect, Scopes: s.Asked,
	}
	p.URL = request.AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier), oauth2.SetAuthURLParam("resource", s.Resource))
	return p, nil
}

// completeConsent turns the answer to an authorization request into a token. The
// answer must be to this request, and from the issuer that was asked: compared
// byte for byte (RFC 9207).
func (t *Transport) completeConsent(ctx context.Context, p Pending, query url.Values) (Session, error) {
	iss, named := query["iss"]
	switch {
	case query.Get("state") != p.State:
		return Session{}, beeos.Errorf(beeos.InvalidParam, "this answer belongs to another authorization; start it again")
	case p.Iss && !named, len(iss) > 1, named && iss[0] != p.Session.Issuer:
		return Session{}, unusableError("the answer is not from its authorization server")
	case query.Get("error") != "":
		return Session{}, beeos.Errorf(beeos.Forbidden, "the authorization server says no (%s); start it again if that was a mistake", shownCode(query.Get("error")))
	case query.Get("code") == "":
		return Session{}, unusableError("the answer of its authorization server holds no code")
	}
	return t.requestToken(ctx, p.Session, url.Values{
		"grant_type": {"authorization_code"}, "code": {query.Get("code")},
		"redirect_uri": {t.opt.Client.Redirect}, "code_verifier": {p.Verifier},
	})
}
