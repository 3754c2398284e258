package oauthclient

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beeos/beeos"
)

// dpopAlg is the one algorithm that the keys of tokens are for.
const dpopAlg = "ES256"

func newTokenKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for tokens: %w", err)
	}
	return x509.MarshalECPrivateKey(key)
}

// newProof makes the proof that whoever sends this request has the key (RFC
// 9449). Each request needs one of its own.
func (t *Transport) newProof(der []byte, method string, u *url.URL, access string) (string, error) {
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return "", fmt.Errorf("read the key of a token: %w", err)
	}
	claims := jwt.MapClaims{
		"jti": beeos.NewID(), "htm": method, "iat": t.opt.Now().Unix(),
		"htu": (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String(),
	}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce := t.nonceFor(u); nonce != "" {
		claims["nonce"] = nonce
	}
	public, err := key.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		return "", fmt.Errorf("read the key of a token: %w", err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["typ"] = "dpop+jwt"
	token.Header["jwk"] = map[string]string{
		"kty": "EC", "crv": "P-256",
		"x": base64.RawURLEncoding.EncodeToString(public[1:33]), "y": base64.RawURLEncoding.EncodeToString(public[33:]),
	}
	return token.SignedString(key)
}

func (t *Transport) nonceFor(u *url.URL) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nonces[u.Host]
}

// keepNonce notes what a server wants to see in the next proof, and reports
// whether that is new.
func (t *Transport) keepNonce(u *url.URL, h http.Header) bool {
	nonce := h.Get("DPoP-Nonce")
	if nonce == "" {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := t.nonces[u.Host] != nonce
	t.nonces[u.Host] = nonce
	return fresh
}
