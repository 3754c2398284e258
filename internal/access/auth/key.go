package auth

import (
	"crypto/sha256"
	"strings"

	"github.com/beeos/beeos"
)

const (
	keyLen    = len(beeos.UserKeyPrefix) + 64 // both prefixes are as long
	prefixLen = 12                            // what people recognise a key by
)

// NewKey returns a new secret, the hash under which it is kept, and the part
// of it that may be shown again.
func NewKey(kind beeos.KeyKind) (secret string, hash []byte, prefix string) {
	start := beeos.UserKeyPrefix
	if kind == beeos.AgentKey {
		start = beeos.AgentKeyPrefix
	}
	secret = beeos.NewSecret(start)
	return secret, Hash(secret), secret[:prefixLen]
}

// Hash is what the store keeps of a secret. A secret is 256 random bits, so a
// plain SHA-256 cannot be guessed back.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// IsKey reports whether a credential claims to be an API key, good or bad.
func IsKey(token string) bool {
	return strings.HasPrefix(token, beeos.UserKeyPrefix) || strings.HasPrefix(token, beeos.AgentKeyPrefix)
}

// keyHash hashes a token that looks like a key, without allocating.
func keyHash(token string) (hash [sha256.Size]byte, ok bool) {
	if len(token) != keyLen || !IsKey(token) {
		return hash, false
	}
	var b [keyLen]byte
	copy(b[:], token)
	return sha256.Sum256(b[:]), true
}
