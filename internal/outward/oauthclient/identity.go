package oauthclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beeos/beeos"
)

// ParseKey reads a private key in PEM, for private_key_jwt.
func ParseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not PEM; it begins with -----BEGIN PRIVATE KEY-----")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("the private key cannot be read; use an EC, RSA or Ed25519 key in PKCS#8")
}

// registrationAt returns what the issuer of s calls this client: what the owner brought, or
// what was registered.
func (t *Transport) registrationAt(s Session) Registration {
	if c := t.opt.Client; c.ID != "" {
		return Registration{ClientID: c.ID, Secret: c.Secret}
	}
	return s.Registered
}

// identifyClient adds to a form, or to its header, who asks and the proof of it.
func (t *Transport) identifyClient(s Session, form url.Values, header http.Header) error {
	r := t.registrationAt(s)
	switch cmp.Or(r.Method, t.authMethod(r, s.Methods)) {
	case "client_secret_basic":
		form.Del("client_id")
		(&http.Request{Header: header}).SetBasicAuth(url.QueryEscape(r.ClientID), url.QueryEscape(r.Secret))
	case "client_secret_post":
		form.Set("client_id", r.ClientID)
		form.Set("client_secret", r.Secret)
	case "private_key_jwt":
		assertion, err := t.signAssertion(r.ClientID, s.Issuer)
		if err != nil {
			return err
		}
		form.Set("client_id", r.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	default:
		form.Set("client_id", r.ClientID)
	}
	return nil
}

// authMethod picks how to prove who asks. A server that lists no methods takes
// client_secret_basic (RFC 8414).
func (t *Transport) authMethod(r Registration, supported []string) string {
	switch {
	case t.opt.Client.Key != nil:
		return "private_key_jwt"
	case r.Secret == "":
		return "none"
	case slices.Contains(supported, "client_secret_post") && !slices.Contains(supported, "client_secret_basic"):
		return "client_secret_post"
	}
	return "client_secret_basic"
}

// signAssertion makes an assertion for one issuer, good for a minute.
func (t *Transport) signAssertion(clientID, issuer string) (string, error) {
	var method jwt.SigningMethod
	switch key := t.opt.Client.Key.(type) {
	case *ecdsa.PrivateKey:
		switch key.Curve.Params().BitSize {
		case 256:
			method = jwt.SigningMethodES256
		case 384:
			method = jwt.SigningMethodES384
		default:
			method = jwt.SigningMethodES512
		}
	case *rsa.PrivateKey:
		method = jwt.SigningMethodRS256
	case ed25519.PrivateKey:
		method = jwt.SigningMethodEdDSA
	default:
		return "", fmt.Errorf("a key of type %T cannot sign assertions", key)
	}
	now := t.opt.Now()
	return jwt.NewWithClaims(method, jwt.MapClaims{
		"iss": clientID, "sub": clientID, "aud": issuer, "jti": beeos.NewID(),
		"iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	}).SignedString(t.opt.Client.Key)
}

// ensureRegistered makes sure that the issuer knows this client: it was registered
// before, it has a document that says who it is, or it registers now.
func (t *Transport) ensureRegistered(ctx context.Context, s *Session, i issuer) error {
	switch {
	case t.opt.Client.ID != "":
		return nil
	case i.Documents && t.opt.Client.Document != "":
		s.Registered = Registration{ClientID: t.opt.Client.Document, Method: "none"}
		return nil
	case s.Registered.ClientID != "" && s.Registered.ClientID != t.opt.Client.Document:
		return nil
	case i.RegisterURL != "":
		r, err := t.registerClient(ctx, i)
		s.Registered = r
		return err
	}
	return unusableError("its authorization server takes no new clients; register one there and give the skill its clientId")
}

// registerClient introduces the client (RFC 7591).
func (t *Transport) registerClient(ctx context.Context, i issuer) (r Registration, err error) {
	method := "none"
	for _, m := range []string{"client_secret_basic", "client_secret_post"} {
		if slices.Contains(i.Methods, m) {
			method = m
			break
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": t.opt.Client.Name, "redirect_uris": []string{t.opt.Client.Redirect}, "application_type": applicationType(t.opt.Client.Redirect),
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": method,
	})
	if err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, i.RegisterURL, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	req.Header.Set("Content-Type", "application/json")
	status, text, err := t.requestJSON(req, "its authorization server")
	if status == 0 {
		return r, err
	}
	var got struct {
		ClientID string `json:"client_id"`
		Secret   string `json:"client_secret"`
		Method   string `json:"token_endpoint_auth_method"`
	}
	if err != nil || status >= 300 || json.Unmarshal(text, &got) != nil || got.ClientID == "" {
		return r, unusableError(fmt.Sprintf("its authorization server does not register this client (%d); register one there and give the skill its clientId", status))
	}
	return Registration(got), nil
}

// applicationType tells a server on the web from one on somebody's own machine.
func applicationType(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || u.Scheme == "https" {
		return "web"
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return "native"
	}
	return "web"
}
