package courier

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
)

// Names of the headers that prove where a delivery comes from.
const (
	HeaderSignature = "X-BeeOS-Signature"

	// Standard Webhooks (standardwebhooks.com), for ready-made verifiers.
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderStandard  = "Webhook-Signature"
)

// standardPrefix begins a secret that is base64, as Standard Webhooks writes
// them; any other is its own bytes.
const standardPrefix = "whsec_"

const (
	maxToken  = 4096 // bytes
	minSecret = 16   // characters
	maxSecret = 256
)

// NewSecret makes a secret as Standard Webhooks writes them.
func NewSecret() string {
	key := make([]byte, 24)
	rand.Read(key) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return standardPrefix + base64.StdEncoding.EncodeToString(key)
}

// CheckSecret refuses a secret that somebody chose and that is none; "" = they did not.
func CheckSecret(secret string) error {
	if n := utf8.RuneCountInString(secret); secret != "" && (n < minSecret || n > maxSecret) {
		return beeos.Errorf(beeos.InvalidParam, "secret must have %d to %d characters", minSecret, maxSecret)
	}
	return nil
}

// CheckToken refuses what cannot be sent in a header. The name says what it is.
func CheckToken(name, token string) error {
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return beeos.Errorf(beeos.InvalidParam, "%s must be plain ASCII without spaces, of at most %d characters", name, maxToken)
	}
	return nil
}

// Sign puts the proof of this moment on a request. It is made afresh for
// every attempt, since receivers refuse what is older than a few minutes; the
// id stays, so that they know a repetition.
func Sign(h http.Header, id string, secrets []string, at time.Time, body []byte) {
	t := strconv.FormatInt(at.Unix(), 10)
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, t)
	if len(secrets) == 0 {
		return
	}
	ours := []string{"t=" + t}
	var standard []string
	for _, secret := range secrets {
		ours = append(ours, "v1="+hex.EncodeToString(computeMAC([]byte(secret), t, ".", string(body))))
		standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(computeMAC(standardKey(secret), id, ".", t, ".", string(body))))
	}
	h.Set(HeaderSignature, strings.Join(ours, ","))
	h.Set(HeaderStandard, strings.Join(standard, " "))
}

func computeMAC(key []byte, parts ...string) []byte {
	m := hmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write([]byte(p)) //nolint:errcheck // it never fails
	}
	return m.Sum(nil)
}

// standardKey is a secret as a Standard Webhooks library would use it.
func standardKey(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, standardPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(text); err == nil {
			return key
		}
	}
	return []byte(secret)
}
