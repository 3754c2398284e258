package web

import (
	"bytes"
	"encoding/json"

	"github.com/beeos/beeos"
)

// Card is an agent as A2A peers see it.
type Card struct {
	URL      string
	Whole    []byte // JSON, for those who may call the agent
	Redacted []byte // for everybody else; nil = they see all of it
}

// cardData is a card as people read it.
type cardData struct {
	URL             string
	Signed          bool
	Whole, Redacted string
}

// loadCard returns the card of an agent, or nil where no A2A surface runs.
func (s *Surface) loadCard(a *beeos.Agent) (*cardData, error) {
	if s.Card == nil {
		return nil, nil
	}
	c, err := s.Card(a)
	if err != nil {
		return nil, err
	}
	var signed struct {
		Signatures []json.RawMessage `json:"signatures"`
	}
	if err := json.Unmarshal(c.Whole, &signed); err != nil {
		return nil, err
	}
	return &cardData{URL: c.URL, Signed: len(signed.Signatures) > 0, Whole: formatJSON(c.Whole), Redacted: formatJSON(c.Redacted)}, nil
}

// formatJSON puts JSON on several lines, with nothing hidden in it.
func formatJSON(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return beeos.Visible(string(raw))
	}
	return beeos.Visible(b.String())
}
