package blob

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/beeos/beeos"
)

// Grant is what a link allows: one method on one file, until a time.
type Grant struct {
	Method      string // PUT or GET; a link to GET also allows HEAD
	FileID      string
	ContentType string // PUT: the header that must come with the bytes
	MaxBytes    int64  // PUT
	Expires     time.Time
}

// Signer makes and checks links below Base. A link needs no other credential,
// so whoever has it may use it. All replicas share Key and Base; a link that
// was made for another address is not valid here.
type Signer struct {
	Key  []byte
	Base string // the public URL of the surface that serves /files/
}

// version is signed along, so that a later scheme cannot be confused with
// this one.
const version = "1"

// Parameters of a link.
const (
	paramVersion     = "v"
	paramContentType = "type"
	paramMaxBytes    = "max"
	paramExpires     = "exp"
	paramNonce       = "nonce"
	paramSignature   = "sig"
)

// NewKey makes a key for links.
func NewKey() []byte {
	key := make([]byte, sha256.Size)
	rand.Read(key) //nolint:errcheck // crypto/rand never fails since Go 1.24
	return key
}

// Link writes a grant as a URL.
func (s *Signer) Link(g Grant) string {
	nonce := rand.Text()
	q := url.Values{
		paramVersion: {version},
		paramExpires: {strconv.FormatInt(g.Expires.Unix(), 10)},
		paramNonce:   {nonce},
	}
	if g.Method == http.MethodPut {
		q.Set(paramContentType, g.ContentType)
		q.Set(paramMaxBytes, strconv.FormatInt(g.MaxBytes, 10))
	}
	q.Set(paramSignature, base64.RawURLEncoding.EncodeToString(s.mac(g, nonce)))
	return strings.TrimRight(s.Base, "/") + "/files/" + g.FileID + "?" + q.Encode()
}

// Check reads the grant of a link that is used with this method on this file.
// It has one answer for everything that is wrong.
func (s *Signer) Check(method, fileID, rawQuery string, now time.Time) (Grant, error) {
	refused := beeos.Errorf(beeos.Forbidden, "this link is not valid for %s, or no longer; ask for a new one", method)
	q, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Grant{}, refused
	}
	take := func(name string) string { // one value, and nothing may be left over
		if len(q[name]) != 1 {
			return ""
		}
		v := q[name][0]
		delete(q, name)
		return v
	}
	g := Grant{Method: method, FileID: fileID}
	if method == http.MethodHead {
		g.Method = http.MethodGet
	}
	if g.Method == http.MethodPut {
		g.ContentType = take(paramContentType)
		if g.MaxBytes, err = strconv.ParseInt(take(paramMaxBytes), 10, 64); err != nil {
			return Grant{}, refused
		}
	}
	expires, err := strconv.ParseInt(take(paramExpires), 10, 64)
	if err != nil {
		return Grant{}, refused
	}
	g.Expires = time.Unix(expires, 0).UTC()
	nonce := take(paramNonce)
	sig, err := base64.RawURLEncoding.Strict().DecodeString(take(paramSignature))
	if err != nil || take(paramVersion) != version || len(q) != 0 || !hmac.Equal(sig, s.mac(g, nonce)) || !now.Before(g.Expires) {
		return Grant{}, refused
	}
	return g, nil
}

// mac covers each field with its length, so that no two grants run together.
func (s *Signer) mac(g Grant, nonce string) []byte {
	h := hmac.New(sha256.New, s.Key)
	for _, field := range []string{
		"beeos file link " + version, strings.TrimRight(s.Base, "/"), g.Method, g.FileID, g.ContentType,
		strconv.FormatInt(g.MaxBytes, 10), strconv.FormatInt(g.Expires.Unix(), 10), nonce,
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(field)))
		h.Write(n[:])
		h.Write([]byte(field))
	}
	return h.Sum(nil)
}
