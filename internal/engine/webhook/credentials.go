package webhook

import (
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

// seal encrypts credentials for one webhook: they open for no other.
func (h *Hooks) seal(webhookID string, c credentials) ([]byte, error) {
	return h.sealer.SealJSON(c, webhookID)
}

func (h *Hooks) unseal(webhookID string, sealed []byte) (c credentials, err error) {
	if err := h.sealer.OpenJSON(sealed, webhookID, &c); err != nil {
		return c, fmt.Errorf("the credentials of webhook %s cannot be decrypted: %w", webhookID, err)
	}
	return c, nil
}
