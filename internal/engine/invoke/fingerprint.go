package invoke

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// said is what a caller said to an agent, whichever surface took it down. An
// idempotency key stands for it: how the call came and how long its caller
// waits may differ from one try to the next.
type said struct {
	Channel     string             `json:"channel,omitempty"` // as far as the caller named one
	Body        string             `json:"body,omitempty"`
	Parts       any                `json:"parts,omitempty"`
	Method      string             `json:"method,omitempty"`
	Tool        string             `json:"tool,omitempty"`
	Arguments   any                `json:"arguments,omitempty"`
	Params      any                `json:"params,omitempty"`
	Attachments []files.Attachment `json:"attachments,omitempty"`
	Metadata    map[string]string  `json:"metadata,omitempty"`
	Input       map[string]any     `json:"input,omitempty"`
	State       string             `json:"state,omitempty"`
	ReplayOf    string             `json:"replay_of,omitempty"`
	Model       string             `json:"model,omitempty"` // of a replay; a conversation has its own
	Trial       *beeos.Trial       `json:"trial,omitempty"`
}

// idempotency is the row that guards the request against being made twice; nil
// without a key.
func (c *Calls) idempotency(r *Request) (*ledger.Idempotency, error) {
	if r.IdempotencyKey == "" {
		return nil, nil
	}
	print, err := fingerprint(r)
	if err != nil {
		return nil, beeos.Wrap(beeos.InvalidBody, err, "the request's JSON cannot be read")
	}
	return &ledger.Idempotency{
		Scope: r.Caller.CredentialID + " " + r.Agent.ID, Key: r.IdempotencyKey,
		Fingerprint: print, Expires: c.opt.Now().Add(idempotencyTTL),
	}, nil
}

// fingerprint tells apart what an idempotency key may stand for. How JSON is
// written, its spaces and the order of its members, does not count.
func fingerprint(r *Request) ([]byte, error) {
	s := said{
		Channel: r.namedChannel(), Body: r.Body, Method: r.Call.Method, Tool: r.Call.Tool,
		Attachments: r.Attachments, Metadata: OwnMetadata(r.Call.Metadata), State: r.Call.State,
		ReplayOf: r.ReplayOf, Trial: r.Call.Trial,
	}
	if r.ReplayOf != "" {
		s.Model = r.Call.Model
	}
	for to, raw := range map[*any]json.RawMessage{&s.Parts: r.Parts, &s.Arguments: r.Call.Arguments, &s.Params: r.Call.Params} {
		if err := decode(raw, to); err != nil {
			return nil, err
		}
	}
	if len(r.Call.Input) > 0 {
		s.Input = map[string]any{}
		for name, raw := range r.Call.Input {
			var answer any
			if err := decode(raw, &answer); err != nil {
				return nil, err
			}
			s.Input[name] = answer
		}
	}
	text, err := json.Marshal(s) // members of objects are sorted
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// decode reads JSON, if there is any, with its numbers as they are written.
func decode(raw []byte, to *any) error {
	if len(raw) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}
