package oauthclient

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// issued is what a token endpoint answers.
type issued struct {
	Access    string  `json:"access_token"`
	Type      string  `json:"token_type"`
	Refresh   string  `json:"refresh_token"`
	ExpiresIn float64 `json:"expires_in"`
	Error     string  `json:"error"`
}

// requestToken asks the issuer of s for a token, by whichever grant the form names.
// The resource is in every request: the token is for this server alone.
func (t *Transport) requestToken(ctx context.Context, s Session, form url.Values) (Session, error) {
	form.Set("resource", s.Resource)
	if len(s.Asked) > 0 && form.Get("grant_type") != "authorization_code" {
		form.Set("scope", strings.Join(s.Asked, " "))
	}
	got, err := t.postToIssuer(ctx, s, s.TokenURL, form)
	if err != nil {
		return s, err
	}
	switch strings.ToLower(got.Type) {
	case "bearer":
		s.DPoP = false // the server may know no other
	case "dpop":
		if !s.DPoP {
			return s, unusableError("its authorization server bound the token to a key that nobody has")
		}
	default:
		return s, unusableError("its authorization server issued a token of a kind that is not known")
	}
	if got.Access == "" || strings.ContainsAny(got.Access, " \t\r\n") {
		return s, unusableError("its authorization server issued no token")
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

// refreshToken renews the token of s.
func (t *Transport) refreshToken(ctx context.Context, s Session) (Session, error) {
	return t.requestToken(ctx, s, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.Refresh}})
}

// requestTokenFor gets a token for a JWT that somebody else has signed (RFC 7523).
func (t *Transport) requestTokenFor(ctx context.Context, s Session, assertion func(context.Context, string) (string, error)) (Session, error) {
	text, err := assertion(ctx, s.Issuer)
	if err != nil {
		return s, err
	}
	return t.requestToken(ctx, s, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {text}})
}

// exchangeIDToken gets, from the enterprise's identity provider, an assertion for the
// issuer of s out of the person's id token (RFC 8693).
func (t *Transport) exchangeIDToken(ctx context.Context, s Session) (string, error) {
	if !t.isUsableAddress(t.opt.Client.IDP) {
		return "", unusableError("the identity provider of this skill has no usable address")
	}
	subject, err := t.opt.Client.Assertion(ctx, t.opt.Client.IDP)
	if err != nil {
		return "", err
	}
	got, err := t.submitForm(ctx, t.opt.Client.IDP, url.Values{
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
		return "", unusableError("the identity provider issued nothing")
	}
	return got.Access, nil
}

// postToIssuer sends a form to an endpoint of the issuer of s, as the client that it
// knows, with a proof of the key where tokens are bound to one.
func (t *Transport) postToIssuer(ctx context.Context, s Session, address string, form url.Values) (issued, error) {
	for again := true; ; again = false {
		header := http.Header{}
		if err := t.identifyClient(s, form, header); err != nil {
			return issued{}, err
		}
		u, err := url.Parse(address)
		if err != nil {
			return issued{}, err
		}
		if s.DPoP {
			proof, err := t.newProof(s.Key, http.MethodPost, u, "")
			if err != nil {
				return issued{}, err
			}
			header.Set("DPoP", proof)
		}
		got, err := t.submitForm(ctx, address, form, header)
		if got.Error == "use_dpop_nonce" && s.DPoP && again {
			continue // the nonce came with the refusal
		}
		return got, err
	}
}

var codeForm = regexp.MustCompile(`^[a-z_]{1,64}$`)

// shownCode is the code of a refusal as far as it may be repeated.
func shownCode(code string) string {
	if !codeForm.MatchString(code) {
		return "no reason"
	}
	return code
}

// submitForm sends a form and reads the answer. Of a refusal only its code is
// repeated: what else it says may be meant for somebody's model.
func (t *Transport) submitForm(ctx context.Context, address string, form url.Values, header http.Header) (got issued, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return got, err
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, text, err := t.requestJSON(req, "its authorization server")
	switch parsed := json.Unmarshal(text, &got); {
	case status == 0:
		return got, err
	case err != nil:
		return got, fmt.Errorf("read the answer of an authorization server: %w", err)
	case status != http.StatusOK && status != http.StatusCreated:
		got.Error = shownCode(got.Error)
		return got, unusableError(fmt.Sprintf("its authorization server refuses (%d, %s)", status, got.Error))
	case parsed != nil:
		return got, unusableError("its authorization server does not answer in JSON")
	}
	return got, nil
}
