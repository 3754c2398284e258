package card

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

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
func (s *signer) sign(c any) (a2a.AgentCardSignature, error) {
	raw, err := beeos.EncodeJSON(c)
	if err != nil {
		return a2a.AgentCardSignature{}, fmt.Errorf("encode the card: %w", err)
	}
	text, err := canonical(raw)
	if err != nil {
		return a2a.AgentCardSignature{}, fmt.Errorf("sign the card: %w", err)
	}
	signed := s.protected + "." + base64.RawURLEncoding.EncodeToString([]byte(text))
	return a2a.AgentCardSignature{
		Protected: s.protected, Signature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(s.key, []byte(signed))),
	}, nil
}

// ServeKeys publishes the key that cards are signed with.
func (c *Cards) ServeKeys(w http.ResponseWriter) {
	public := c.signer.key.Public().(ed25519.PublicKey)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	httpd.WriteJSON(w, http.StatusOK, map[string]any{"keys": []map[string]string{{
		"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": c.signer.id, "x": base64.RawURLEncoding.EncodeToString(public),
	}}})
}

// lineEnds are the two characters that Go escapes and RFC 8785 does not. The
// first pair passes over backslashes that are themselves escaped.
var lineEnds = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

// canonical is JSON in the form of RFC 8785: what Go writes of a map, since the
// names in cards are ASCII and there are no fractions.
func canonical(raw []byte) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	text, err := beeos.EncodeJSON(v)
	return lineEnds.Replace(string(text)), err
}
