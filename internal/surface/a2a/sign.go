package a2a

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf16"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// signer proves that a card comes from here: a JWS (RFC 7515) with Ed25519
// over the card's canonical form (RFC 8785), without the card in it.
type signer struct {
	key       ed25519.PrivateKey
	id        string
	protected string
}

func newSigner(seed []byte, keys string) *signer {
	s := &signer{key: ed25519.NewKeyFromSeed(seed)}
	sum := sha256.Sum256(s.key.Public().(ed25519.PublicKey))
	s.id = base64.RawURLEncoding.EncodeToString(sum[:12])
	header, _ := json.Marshal(map[string]string{"alg": "EdDSA", "typ": "JOSE", "kid": s.id, "jku": keys}) //nolint:errcheck // strings
	s.protected = base64.RawURLEncoding.EncodeToString(header)
	return s
}

// sign returns the signature of a card that has none.
func (s *signer) sign(c *a2a.AgentCard) (a2a.AgentCardSignature, error) {
	raw, err := beeos.EncodeJSON(c)
	if err != nil {
		return a2a.AgentCardSignature{}, fmt.Errorf("encode the card: %w", err)
	}
	text, err := canonical(raw)
	if err != nil {
		return a2a.AgentCardSignature{}, fmt.Errorf("sign the card: %w", err)
	}
	signed := s.protected + "." + base64.RawURLEncoding.EncodeToString(text)
	return a2a.AgentCardSignature{
		Protected: s.protected, Signature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, []byte(signed))),
	}, nil
}

// serveKeys publishes the key that cards are signed with.
func (g *Gateway) serveKeys(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		notHere(w, r)
		return
	}
	public := g.signer.key.Public().(ed25519.PublicKey)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	httpd.WriteJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": g.signer.id, "x": base64.RawURLEncoding.EncodeToString(public),
	}}})
}

// canonical is JSON in the form of RFC 8785. Cards have no fractions, so
// numbers are integers or an error.
func canonical(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return appendCanonical(nil, v)
}

func appendCanonical(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), byUTF16) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, name), ':')
			if b, err = appendCanonical(b, v[name]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, one); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case string:
		return appendText(b, v), nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 53)
		if err != nil {
			return nil, beeos.Errorf(beeos.InvalidParam, "the number %s is no integer of 53 bits", v)
		}
		return strconv.AppendInt(b, n, 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	}
	return append(b, "null"...), nil
}

// byUTF16 orders names as RFC 8785 wants it.
func byUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendText escapes as little as JSON allows.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
