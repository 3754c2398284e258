package signin

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"math/big"
	"net/http"
	"sync"
	"time"
)

const (
	keysFor   = time.Hour
	keysAgain = 10 * time.Second // an unknown kid makes us ask no more often
	leastRSA  = 2048             // bits
)

// keySet is a provider's public keys. Its zero value is ready.
type keySet struct {
	mu   sync.Mutex
	keys []publicKey
	read time.Time
}

// publicKey is a key of the set for one algorithm.
type publicKey struct {
	id, alg string
	key     crypto.PublicKey
}

// find returns the key that a token names. One that is not known may be new,
// so the set is read again, but not for every token that somebody makes up.
func (s *keySet) find(ctx context.Context, o *OIDC, url, kid, alg string) (crypto.PublicKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := o.opt.Now().Sub(s.read)
	if s.read.IsZero() || age >= keysFor || s.pick(kid, alg) == nil && age >= keysAgain {
		if err := s.load(ctx, o, url); err != nil {
			return nil, unreachable(err)
		}
	}
	if key := s.pick(kid, alg); key != nil {
		return key, nil
	}
	return nil, errors.New("the provider has no such key")
}

// pick finds the key; a token that names none is only clear with one key.
func (s *keySet) pick(kid, alg string) crypto.PublicKey {
	var found []crypto.PublicKey
	for _, k := range s.keys {
		if k.alg == alg && (kid == "" || k.id == kid) {
			found = append(found, k.key)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

func (s *keySet) load(ctx context.Context, o *OIDC, url string) error {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return err
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := o.ask(req, &set); err != nil {
		return err
	}
	s.keys, s.read = nil, o.opt.Now()
	for _, k := range set.Keys {
		if alg, key := k.public(); key != nil {
			s.keys = append(s.keys, publicKey{id: k.ID, alg: alg, key: key})
		}
	}
	return nil
}

// jwk is a JSON Web Key, as far as we can use one.
type jwk struct {
	Type  string `json:"kty"`
	ID    string `json:"kid"`
	Alg   string `json:"alg"`
	Use   string `json:"use"`
	Curve string `json:"crv"`
	N     string `json:"n"`
	E     string `json:"e"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

// public returns the key and the one algorithm that it is good for; nil for
// keys of other kinds, which a set may well hold.
func (k jwk) public() (alg string, key crypto.PublicKey) {
	switch {
	case k.Use != "" && k.Use != "sig":
		return "", nil
	case k.Type == "RSA":
		alg, key = "RS256", k.rsa()
	case k.Type == "EC" && k.Curve == "P-256":
		alg, key = "ES256", k.ecdsa()
	case k.Type == "OKP" && k.Curve == "Ed25519":
		if x := decode(k.X); len(x) == ed25519.PublicKeySize {
			alg, key = "EdDSA", ed25519.PublicKey(x)
		}
	}
	if k.Alg != "" && k.Alg != alg && !(k.Alg == "Ed25519" && alg == "EdDSA") {
		return "", nil
	}
	return alg, key
}

func (k jwk) rsa() crypto.PublicKey {
	n, e := new(big.Int).SetBytes(decode(k.N)), new(big.Int).SetBytes(decode(k.E))
	if n.BitLen() < leastRSA || !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 {
		return nil
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}
}

func (k jwk) ecdsa() crypto.PublicKey {
	x, y := decode(k.X), decode(k.Y)
	if len(x) != 32 || len(y) != 32 {
		return nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		return nil
	}
	return key
}

func decode(s string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
