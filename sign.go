package beeos

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// SignatureWindow is how far a signature's clock may be off.
const SignatureWindow = 60 * time.Second

// Signature is the credential of an agent instance:
//
//	Authorization: Ed25519 <keyId>:<timestamp>:<nonce>:<signature>
//
// The signature (base64) covers the lines METHOD, path with query, the hex
// SHA-256 of the body, timestamp (unix seconds) and nonce, joined by "\n".
type Signature struct {
	KeyID     string
	Timestamp int64
	Nonce     string
	Signature []byte
}

// Sign returns the Authorization header for one request.
func Sign(key ed25519.PrivateKey, keyID, method, path string, body []byte) string {
	return signAt(key, Signature{KeyID: keyID, Timestamp: time.Now().Unix(), Nonce: NewSecret("")[:32]}, method, path, body)
}

// signAt is Sign with clock and nonce given by s.
func signAt(key ed25519.PrivateKey, s Signature, method, path string, body []byte) string {
	s.Signature = ed25519.Sign(key, s.text(method, path, body))
	return fmt.Sprintf("Ed25519 %s:%d:%s:%s", s.KeyID, s.Timestamp, s.Nonce, base64.StdEncoding.EncodeToString(s.Signature))
}

// ParseSignature reads an Authorization header; ok is false when it is not
// of the Ed25519 form.
func ParseSignature(header string) (s Signature, ok bool) {
	rest, ok := strings.CutPrefix(header, "Ed25519 ")
	if !ok {
		return s, false
	}
	f := strings.Split(rest, ":")
	if len(f) != 4 || f[0] == "" || !utf8.ValidString(rest) || len(f[2]) < 16 || len(f[2]) > 64 {
		return s, false
	}
	ts, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return s, false
	}
	sig, err := base64.StdEncoding.DecodeString(f[3])
	if err != nil || len(sig) != ed25519.SignatureSize {
		return s, false
	}
	return Signature{KeyID: f[0], Timestamp: ts, Nonce: f[2], Signature: sig}, true
}

// Verify checks the signature itself; the caller checks window and nonce.
func (s Signature) Verify(key ed25519.PublicKey, method, path string, body []byte) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, s.text(method, path, body), s.Signature)
}

func (s Signature) text(method, path string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return []byte(method + "\n" + path + "\n" + hex.EncodeToString(sum[:]) + "\n" + strconv.FormatInt(s.Timestamp, 10) + "\n" + s.Nonce)
}
