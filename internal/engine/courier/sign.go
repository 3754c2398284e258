package courier

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
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
