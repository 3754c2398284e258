package auth

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
)

const (
	keyLen    = len(beeos.UserKeyPrefix) + 64 // both prefixes are as long
	prefixLen = 12                            // what people recognise a key by
)

// keyPrefixes tell the kinds of keys apart at a glance. A kind that is not here
// makes secrets that are good nowhere.
var keyPrefixes = map[beeos.KeyKind]string{beeos.UserKey: beeos.UserKeyPrefix, beeos.AgentKey: beeos.AgentKeyPrefix}

// NewKey returns a new secret, the hash under which it is kept, and the part
// of it that may be shown again.
func NewKey(kind beeos.KeyKind) (secret string, hash []byte, prefix string) {
	secret = beeos.NewSecret(keyPrefixes[kind])
	return secret, Hash(secret), secret[:prefixLen]
}

// Hash is what the store keeps of a secret. A secret is 256 random bits, so a
// plain SHA-256 cannot be guessed back.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// keyHash hashes a token that is as long as a key, without allocating.
func keyHash(token string) (hash [sha256.Size]byte, ok bool) {
	if len(token) != keyLen {
		return hash, false
	}
	var b [keyLen]byte
	copy(b[:], token)
	return sha256.Sum256(b[:]), true
}

const (
	foundFor  = 30 * time.Second // a revocation whose notice got lost takes this long
	absentFor = time.Second      // so that a new key works at once
)

// cachedKey is what is known about one hash. Only used changes after it is made.
type cachedKey struct {
	caller  beeos.Caller // of no credential = no usable key has this hash
	expires time.Time
	used    atomic.Int64 // when that was noted last, in unix seconds
}

func (k *cachedKey) valid(now time.Time) bool {
	return k.caller.CredentialID != "" && (k.expires.IsZero() || now.Before(k.expires))
}

// concerns reports whether what is known depends on the key, user or agent.
func (k *cachedKey) concerns(id string) bool {
	return id == k.caller.CredentialID || id == k.caller.UserID || id == k.caller.AgentID
}

// Key returns whom an API key belongs to. Unknown, expired, revoked and
// malformed keys get one and the same answer.
func (a *Authenticator) Key(ctx context.Context, token string) (beeos.Caller, error) {
	hash, ok := keyHash(token)
	if !ok {
		return beeos.Caller{}, RefuseCredential()
	}
	now := a.Now()
	k, known, generation := a.cache.Get(hash, now)
	if !known {
		row, err := a.Keys.GetByHash(ctx, hash[:])
		if err != nil && beeos.CodeOf(err) != beeos.NotFound {
			return beeos.Caller{}, err
		}
		k = &cachedKey{expires: row.ExpiresAt}
		until := now.Add(absentFor)
		if caller, ok := CallerOf(row); ok {
			k.caller, until = caller, now.Add(foundFor)
		}
		a.cache.Put(hash, k, now, until, generation)
	}
	if !k.valid(now) {
		return beeos.Caller{}, RefuseCredential()
	}
	if at := now.Unix(); k.used.Swap(at) != at { // people see seconds
		a.used.Note(k.caller.CredentialID, now)
	}
	return k.caller, nil
}

// checkKey is Key for a request, whose address may send only so many that are
// no good.
func (a *Authenticator) checkKey(r *http.Request, token string, _ Audience) (beeos.Caller, error) {
	caller, err := a.Key(r.Context(), token)
	if beeos.CodeOf(err) == beeos.InvalidToken {
		err = a.countGuess(r, err)
	}
	return caller, err
}

// CallerOf returns who calls with a key; false for one that is revoked, and for a
// kind of key that is not known here.
func CallerOf(k beeos.Key) (beeos.Caller, bool) {
	if !k.RevokedAt.IsZero() {
		return beeos.Caller{}, false
	}
	c := beeos.Caller{UserID: k.OwnerID, CredentialID: k.ID, RatePerMinute: k.RatePerMinute, Name: k.Name}
	if c.Name == "" {
		c.Name = k.Prefix
	}
	switch k.Kind {
	case beeos.UserKey:
		c.Kind = beeos.ByUserKey
	case beeos.AgentKey:
		c.Kind, c.AgentID = beeos.ByAgentKey, k.AgentID
	default:
		return beeos.Caller{}, false
	}
	return c, true
}

// guessesMost is how many keys that are no good one address may send in a
// minute before it is told to slow down. Many people may sit behind one
// address, so a good key is good whatever its neighbours send, and a program
// with a stale key that tries every second is not there yet.
const guessesMost = 300

// countGuess returns what to answer to a credential that is no good: err, or
// that the address it came from sends too many of them.
func (a *Authenticator) countGuess(r *http.Request, err error) error {
	if a.From == nil {
		return err
	}
	if from := Network(a.From(r)); from != "" {
		if limited, ok := a.guesses.Take(from).(*beeos.Error); ok {
			limited.Message = "too many unknown keys came from this address; correct the key, and try again in a minute"
			return limited
		}
	}
	return err
}
