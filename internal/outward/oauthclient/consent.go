package oauthclient

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

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

const nothing = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"beeos","version":"1"}}}`

// Start asks the server what it wants and returns where a person can give it.
func (t *Transport) Start(ctx context.Context) (Pending, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.opt.URL, strings.NewReader(nothing))
	if err != nil {
		return Pending{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := t.http.Do(req)
	if err != nil {
		return Pending{}, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the skill server cannot be reached; check that it runs and that its address is right")
	}
	drain(resp)
	if resp.StatusCode != http.StatusUnauthorized {
		return Pending{}, beeos.Errorf(beeos.Conflict, "the skill server asks for no authorization; there is nothing to consent to")
	}
	c := challengeOf(resp)
	s, r, i, err := t.prepare(ctx, c)
	if err != nil {
		return Pending{}, err
	}
	s.Asked = t.scopes(c, r, s)
	return t.begin(ctx, s, i)
}

// Finish takes what the person came back with. The token is in the vault then.
func (t *Transport) Finish(ctx context.Context, p Pending, query url.Values) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	s, err := t.complete(ctx, p, query)
	if err != nil {
		return err
	}
	_, err = t.keep(ctx, s)
	return err
}

// begin prepares an authorization request (RFC 6749, with PKCE and resource).
func (t *Transport) begin(ctx context.Context, s Session, i issuer) (Pending, error) {
	if i.AuthorizeURL == "" || !supports(i.Challenges, "S256") {
		return Pending{}, unusable("its authorization server does not support PKCE with S256")
	}
	if err := t.introduce(ctx, &s, i); err != nil {
		return Pending{}, err
	}
	if supports(i.Scopes, "offline_access") {
		s.Asked = union(s.Asked, []string{"offline_access"})
	}
	p := Pending{State: rand.Text(), Verifier: rand.Text() + rand.Text(), Session: s, Iss: i.Iss}
	u, err := url.Parse(i.AuthorizeURL)
	if err != nil {
		return p, err
	}
	sum := sha256.Sum256([]byte(p.Verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": t.known(s).ClientID, "redirect_uri": t.opt.Client.Redirect, "state": p.State,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
		"resource": s.Resource, "scope": strings.Join(s.Asked, " "),
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	p.URL = u.String()
	return p, nil
}

// complete turns the answer to an authorization request into a token. The
// answer must be to this request, and from the issuer that was asked: compared
// byte for byte (RFC 9207).
func (t *Transport) complete(ctx context.Context, p Pending, query url.Values) (Session, error) {
	iss, named := query["iss"]
	switch {
	case query.Get("state") != p.State:
		return Session{}, beeos.Errorf(beeos.InvalidParam, "this answer belongs to another authorization; start it again")
	case p.Iss && !named, len(iss) > 1, named && iss[0] != p.Session.Issuer:
		return Session{}, unusable("the answer is not from its authorization server")
	case query.Get("error") != "":
		code := query.Get("error")
		if !codeForm.MatchString(code) {
			code = "no reason"
		}
		return Session{}, beeos.Errorf(beeos.Forbidden, "the authorization server says no (%s); start it again if that was a mistake", code)
	case query.Get("code") == "":
		return Session{}, unusable("the answer of its authorization server holds no code")
	}
	return t.token(ctx, p.Session, url.Values{
		"grant_type": {"authorization_code"}, "code": {query.Get("code")},
		"redirect_uri": {t.opt.Client.Redirect}, "code_verifier": {p.Verifier},
	})
}
