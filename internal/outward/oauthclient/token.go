package oauthclient

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// issued is what a token endpoint answers.
type issued struct {
	Access    string  `json:"access_token"`
	Type      string  `json:"token_type"`
	Refresh   string  `json:"refresh_token"`
	ExpiresIn float64 `json:"expires_in"`
	Error     string  `json:"error"`
}

// token asks the issuer of s for a token, by whichever grant the form names.
// The resource is in every request: the token is for this server alone.
func (t *Transport) token(ctx context.Context, s Session, form url.Values) (Session, error) {
	form.Set("resource", s.Resource)
	if len(s.Asked) > 0 && form.Get("grant_type") != "authorization_code" {
		form.Set("scope", strings.Join(s.Asked, " "))
	}
	got, err := t.post(ctx, s, s.TokenURL, form)
	if err != nil {
		return s, err
	}
	switch strings.ToLower(got.Type) {
	case "bearer":
		s.DPoP = false // the server may know no other
	case "dpop":
		if !s.DPoP {
			return s, unusable("its authorization server bound the token to a key that nobody has")
		}
	default:
		return s, unusable("its authorization server issued a token of a kind that is not known")
	}
	if got.Access == "" || strings.ContainsAny(got.Access, " \t\r\n") {
		return s, unusable("its authorization server issued no token")
	}
	s.Access, s.Expires = got.Access, time.Time{}
	if got.Refresh != "" {
		s.Refresh = got.Refresh
	}
	if got.ExpiresIn > 0 {
		s.Expires = t.opt.Now().Add(time.Duration(got.ExpiresIn * float64(time.Second)))
	}
	return s, nil
}

// refresh renews the token of s.
func (t *Transport) refresh(ctx context.Context, s Session) (Session, error) {
	return t.token(ctx, s, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Refresh}})
}

// assert gets a token for a JWT that somebody else has signed (RFC 7523).
func (t *Transport) assert(ctx context.Context, s Session, assertion func(context.Context, string) (string, error)) (Session, error) {
	text, err := assertion(ctx, s.Issuer)
	if err != nil {
		return s, err
	}
	return t.token(ctx, s, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {text}})
}

// exchange gets, from the enterprise's identity provider, an assertion for the
// issuer of s out of the person's id token (RFC 8693).
func (t *Transport) exchange(ctx context.Context, s Session) (string, error) {
	if !t.usable(t.opt.Client.IDP) {
		return "", unusable("the identity provider of this skill has no usable address")
	}
	subject, err := t.opt.Client.Assertion(ctx, t.opt.Client.IDP)
	if err != nil {
		return "", err
	}
	got, err := t.submit(ctx, t.opt.Client.IDP, url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"},
		"subject_token":        {subject},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
		"audience":             {s.Issuer},
		"resource":             {s.Resource},
		"client_id":            {t.opt.Client.IDPClient},
		"scope":                {strings.Join(s.Asked, " ")},
	}, nil)
	if err != nil {
		return "", err
	}
	if got.Access == "" {
		return "", unusable("the identity provider issued nothing")
	}
	return got.Access, nil
}

// post sends a form to an endpoint of the issuer of s, as the client that it
// knows, with a proof of the key where tokens are bound to one.
func (t *Transport) post(ctx context.Context, s Session, address string, form url.Values) (issued, error) {
	for again := true; ; again = false {
		header := http.Header{}
		if err := t.identify(s, form, header); err != nil {
			return issued{}, err
		}
		u, err := url.Parse(address)
		if err != nil {
			return issued{}, err
		}
		if s.DPoP {
			proof, err := t.proof(s.Key, http.MethodPost, u, "")
			if err != nil {
				return issued{}, err
			}
			header.Set("DPoP", proof)
		}
		got, err := t.submit(ctx, address, form, header)
		if got.Error == "use_dpop_nonce" && s.DPoP && again {
			continue // the nonce came with the refusal
		}
		return got, err
	}
}

var codeForm = regexp.MustCompile(`^[a-z_]{1,64}$`)

// submit sends a form and reads the answer. Of a refusal only its code is
// repeated: what else it says may be meant for somebody's model.
func (t *Transport) submit(ctx context.Context, address string, form url.Values, header http.Header) (got issued, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return got, err
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	resp, err := t.http.Do(req)
	if err != nil {
		return got, beeos.Wrap(beeos.AgentServiceUnavailable, err, "the skill server cannot be authorized: its authorization server cannot be reached")
	}
	defer resp.Body.Close()
	t.keepNonce(req.URL, resp.Header)
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return got, fmt.Errorf("read the answer of an authorization server: %w", err)
	}
	parsed := json.Unmarshal(text, &got)
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		if !codeForm.MatchString(got.Error) {
			got.Error = "no reason"
		}
		return got, unusable(fmt.Sprintf("its authorization server refuses (%d, %s)", resp.StatusCode, got.Error))
	}
	if parsed != nil {
		return got, unusable("its authorization server does not answer in JSON")
	}
	return got, nil
}
