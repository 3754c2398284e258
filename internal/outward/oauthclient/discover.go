package oauthclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// discoverIssuer finds out who lets clients into the server.
func (t *Transport) discoverIssuer(ctx context.Context, c challenge) (resource, issuer, error) {
	r, err := t.fetchResource(ctx, c)
	if err != nil {
		return r, issuer{}, err
	}
	i, err := t.fetchIssuer(ctx, r.Servers[0])
	return r, i, err
}

// fetchResource reads the server's description: where its refusal says, or else at
// the known places, the nearest first.
func (t *Transport) fetchResource(ctx context.Context, c challenge) (r resource, err error) {
	places := []string{wellKnownURL(t.url, "oauth-protected-resource"), wellKnownURL(&url.URL{Scheme: t.url.Scheme, Host: t.url.Host}, "oauth-protected-resource")}
	if c.metadata != "" {
		ref, err := t.url.Parse(c.metadata)
		if err != nil {
			return r, unusableError("its refusal names no usable address of its metadata")
		}
		places = []string{ref.String()}
	}
	if err := t.fetchFirstDocument(ctx, places, &r, "it wants a token and does not say from whom (no protected resource metadata)"); err != nil {
		return r, err
	}
	return r, t.checkResource(r)
}

// checkResource refuses a description that is another server's: tokens for
// that one must not come here, nor ours go there.
func (t *Transport) checkResource(r resource) error {
	u, err := url.Parse(r.Resource)
	if err != nil {
		return unusableError("its metadata names no usable address of it")
	}
	path, mine := strings.TrimSuffix(u.EscapedPath(), "/"), t.url.EscapedPath()
	switch {
	case !strings.EqualFold(u.Scheme, t.url.Scheme) || !strings.EqualFold(u.Host, t.url.Host),
		mine != path && !strings.HasPrefix(mine, path+"/"), u.RawQuery != "" && u.RawQuery != t.url.RawQuery, u.Fragment != "":
		return unusableError("its metadata is about another server")
	case len(r.Servers) == 0:
		return unusableError("its metadata names no authorization server")
	}
	return nil
}

// fetchIssuer reads an authorization server's description, which must be
// about that very issuer.
func (t *Transport) fetchIssuer(ctx context.Context, id string) (i issuer, err error) {
	u, err := url.Parse(id)
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return i, unusableError("its authorization server has no usable address")
	}
	places := []string{wellKnownURL(u, "oauth-authorization-server"), wellKnownURL(u, "openid-configuration")}
	if strings.Trim(u.Path, "/") != "" {
		places = append(places, strings.TrimRight(id, "/")+"/.well-known/openid-configuration")
	}
	if err := t.fetchFirstDocument(ctx, places, &i, "its authorization server does not describe itself"); err != nil {
		return i, err
	}
	return i, t.checkIssuer(i, id)
}

func (t *Transport) checkIssuer(i issuer, id string) error {
	if i.Issuer != id {
		return unusableError("its authorization server says that it is another one")
	}
	for _, endpoint := range []string{i.TokenURL, i.AuthorizeURL, i.RegisterURL} {
		if endpoint != "" && !t.isUsableAddress(endpoint) {
			return unusableError("its authorization server names an endpoint that cannot be used")
		}
	}
	if i.TokenURL == "" {
		return unusableError("its authorization server has no token endpoint")
	}
	return nil
}

// isUsableAddress reports whether an address that somebody else named may be used at
// all. The guard decides when it is dialled.
func (t *Transport) isUsableAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && u.Fragment == "" && (u.Scheme == "https" || u.Scheme == "http" && t.opt.Plain)
}

// wellKnownURL puts the name before the path of u, as RFC 8414 and RFC 9728 do.
func wellKnownURL(u *url.URL, name string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimRight(u.EscapedPath(), "/")
}

var errAbsent = errors.New("there is no such document")

// fetchFirstDocument reads the first JSON document that there is at one of the places;
// absent says what it means when there is none.
func (t *Transport) fetchFirstDocument(ctx context.Context, places []string, into any, absent string) error {
	for _, place := range places {
		if err := t.fetchDocument(ctx, place, into); !errors.Is(err, errAbsent) {
			return err
		}
	}
	return unusableError(absent)
}

// fetchDocument reads a JSON document.
func (t *Transport) fetchDocument(ctx context.Context, address string, into any) error {
	if !t.isUsableAddress(address) {
		return unusableError("it names an address that cannot be used; https is needed")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	switch status, text, err := t.requestJSON(req, "an address that it names"); {
	case status == 0:
		return err
	case status >= 400 && status < 500:
		return errAbsent
	case status != http.StatusOK:
		return unusableError(fmt.Sprintf("a description of it cannot be read (%d)", status))
	case err != nil || json.Unmarshal(text, into) != nil:
		return unusableError("a description of it is not JSON, or too long")
	}
	return nil
}

// requestJSON sends a request for JSON to an address that the server named, and
// reads the answer. whose is what cannot be reached when there is no status.
func (t *Transport) requestJSON(req *http.Request, whose string) (status int, text []byte, err error) {
	req.Header.Set("Accept", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return 0, nil, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the skill server cannot be authorized: "+whose+" cannot be reached")
	}
	defer resp.Body.Close()
	t.keepNonce(req.URL, resp.Header)
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// unusableError says why a protected server cannot be used. It holds nothing that
// the server could not know.
func unusableError(why string) error {
	return beeos.Errorf(beeos.AgentServiceUnavailable, "the skill server cannot be authorized: %s", why)
}
