package oauthclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/beeos/beeos"
)

const maxDocument = 256 << 10

// resource is a server's description of itself (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	DPoP     bool     `json:"dpop_bound_access_tokens_required"`
}

// issuer is an authorization server's description of itself (RFC 8414).
type issuer struct {
	Issuer       string   `json:"issuer"`
	AuthorizeURL string   `json:"authorization_endpoint"`
	TokenURL     string   `json:"token_endpoint"`
	RegisterURL  string   `json:"registration_endpoint"`
	Scopes       []string `json:"scopes_supported"`
	Challenges   []string `json:"code_challenge_methods_supported"`
	Methods      []string `json:"token_endpoint_auth_methods_supported"`
	DPoP         []string `json:"dpop_signing_alg_values_supported"`
	Documents    bool     `json:"client_id_metadata_document_supported"`
	Iss          bool     `json:"authorization_response_iss_parameter_supported"`
}

// discover finds out who lets clients into the server.
func (t *Transport) discover(ctx context.Context, c challenge) (resource, issuer, error) {
	r, err := t.describe(ctx, c)
	if err != nil {
		return r, issuer{}, err
	}
	i, err := t.describeIssuer(ctx, r.Servers[0])
	return r, i, err
}

// describe reads the server's description: where its refusal says, or else at
// the known places, the nearest first.
func (t *Transport) describe(ctx context.Context, c challenge) (r resource, err error) {
	places := []string{wellKnown(t.url, "oauth-protected-resource"), wellKnown(&url.URL{Scheme: t.url.Scheme, Host: t.url.Host}, "oauth-protected-resource")}
	if c.metadata != "" {
		ref, err := t.url.Parse(c.metadata)
		if err != nil {
			return r, unusable("its refusal names no usable address of its metadata")
		}
		places = []string{ref.String()}
	}
	for _, place := range places {
		if err = t.fetch(ctx, place, &r); err == nil {
			return r, t.checkResource(r)
		}
		if !errors.Is(err, errAbsent) {
			return r, err
		}
	}
	return r, unusable("it wants a token and does not say from whom (no protected resource metadata)")
}

// checkResource refuses a description that is another server's: tokens for
// that one must not come here, nor ours go there.
func (t *Transport) checkResource(r resource) error {
	u, err := url.Parse(r.Resource)
	if err != nil {
		return unusable("its metadata names no usable address of it")
	}
	path, mine := strings.TrimSuffix(u.EscapedPath(), "/"), t.url.EscapedPath()
	switch {
	case !strings.EqualFold(u.Scheme, t.url.Scheme) || !strings.EqualFold(u.Host, t.url.Host),
		mine != path && !strings.HasPrefix(mine, path+"/"), u.RawQuery != "" && u.RawQuery != t.url.RawQuery, u.Fragment != "":
		return unusable("its metadata is about another server")
	case len(r.Servers) == 0:
		return unusable("its metadata names no authorization server")
	}
	return nil
}

// describeIssuer reads an authorization server's description, which must be
// about that very issuer.
func (t *Transport) describeIssuer(ctx context.Context, id string) (i issuer, err error) {
	u, err := url.Parse(id)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return i, unusable("its authorization server has no usable address")
	}
	places := []string{wellKnown(u, "oauth-authorization-server"), wellKnown(u, "openid-configuration")}
	if strings.Trim(u.Path, "/") != "" {
		places = append(places, strings.TrimRight(id, "/")+"/.well-known/openid-configuration")
	}
	for _, place := range places {
		i = issuer{}
		if err = t.fetch(ctx, place, &i); err == nil {
			return i, t.checkIssuer(i, id)
		}
		if !errors.Is(err, errAbsent) {
			return i, err
		}
	}
	return i, unusable("its authorization server does not describe itself")
}

func (t *Transport) checkIssuer(i issuer, id string) error {
	if i.Issuer != id {
		return unusable("its authorization server says that it is another one")
	}
	for _, endpoint := range []string{i.TokenURL, i.AuthorizeURL, i.RegisterURL} {
		if endpoint != "" && !t.usable(endpoint) {
			return unusable("its authorization server names an endpoint that cannot be used")
		}
	}
	if i.TokenURL == "" {
		return unusable("its authorization server has no token endpoint")
	}
	return nil
}

// usable reports whether an address that somebody else named may be used at
// all. The guard decides when it is dialled.
func (t *Transport) usable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http" && t.opt.Plain)
}

// wellKnown puts the name before the path of u, as RFC 8414 and RFC 9728 do.
func wellKnown(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimRight(u.EscapedPath(), "/")
}

var errAbsent = errors.New("there is no such document")

// fetch reads a JSON document.
func (t *Transport) fetch(ctx context.Context, address string, into any) error {
	if !t.usable(address) {
		return unusable("it names an address that cannot be used; https is needed")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return beeos.Wrap(beeos.AgentServiceUnavailable, err, "the skill server cannot be authorized: an address that it names cannot be reached")
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return errAbsent
	}
	if resp.StatusCode != http.StatusOK {
		return unusable(fmt.Sprintf("a description of it cannot be read (%d)", resp.StatusCode))
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || json.Unmarshal(text, into) != nil {
		return unusable("a description of it is not JSON, or too long")
	}
	return nil
}

// unusable says why a protected server cannot be used. It holds nothing that
// the server could not know.
func unusable(why string) error {
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the skill server cannot be authorized: %s", why)
}

// supports reports whether a list that a server may leave out has a value.
func supports(list []string, value string) bool { return slices.Contains(list, value) }
