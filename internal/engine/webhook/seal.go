package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"fmt"
	"time"
)

// credentials is what a webhook must not show to anybody.
type credentials struct {
	Token    string    `json:"token,omitempty"`
	Scheme   string    `json:"scheme,omitempty"` // goes before the token; empty = Bearer
	Note     string    `json:"note,omitempty"`   // goes along in a header of its own
	Name     string    `json:"name,omitempty"`   // its owner's, for the registration
	Secret   string    `json:"secret,omitempty"`
	Previous string    `json:"previous,omitempty"` // the secret before, which signs along
	Until    time.Time `json:"until,omitzero"`     // until then
}

// overlap is how long a secret that was replaced still signs.
const overlap = 24 * time.Hour

// secrets returns those that sign now, the current one first.
func (c *credentials) secrets(now time.Time) []string {
	switch {
	case c.Secret == "":
		return nil
	case c.Previous != "" && now.Before(c.Until):
		return []string{c.Secret, c.Previous}
	}
	return []string{c.Secret}
}

// replace returns the credentials that follow c: next, with what c has to do
// with it.
func (c *credentials) replace(next credentials, now time.Time) credentials {
	switch {
	case next.Secret == "":
	case next.Secret == c.Secret: // registered again
		next.Previous, next.Until = c.Previous, c.Until
	case c.Secret != "":
		next.Previous, next.Until = c.Secret, now.Add(overlap)
	}
	return next
}

// sealer encrypts credentials, so that they are not there to be read in a
// backup or a dump of one table.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

// close encrypts for one webhook: what it returns opens for no other.
func (s *sealer) close(webhookID string, c credentials) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the webhook's credentials: %w", err)
	}
	return s.aead.Seal(nil, nil, text, []byte(webhookID)), nil
}

func (s *sealer) open(webhookID string, sealed []byte) (c credentials, err error) {
	text, err := s.aead.Open(nil, nil, sealed, []byte(webhookID))
	if err != nil {
		return c, fmt.Errorf("the credentials of webhook %s cannot be decrypted: %w", webhookID, err)
	}
	return c, json.Unmarshal(text, &c)
}
