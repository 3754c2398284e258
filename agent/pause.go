package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/beeos/beeos"
)

// Continued is what the person said after InputRequired or AuthRequired.
type Continued struct {
	Text        string
	Payload     json.RawMessage
	Parts       json.RawMessage // what came besides the text, as in Message
	Attachments []Attachment
}

// InputRequired pauses the answer until the person says more, or ctx ends.
// The pause is part of the conversation: it outlives a lost connection.
func (r *Reply) InputRequired(ctx context.Context, text string, payload any) (Continued, error) {
	return r.pause(ctx, beeos.FrameInputRequired, text, payload)
}

// AuthRequired pauses the answer until the person has granted access.
func (r *Reply) AuthRequired(ctx context.Context, text string, payload any) (Continued, error) {
	return r.pause(ctx, beeos.FrameAuthRequired, text, payload)
}

func (r *Reply) pause(ctx context.Context, kind beeos.FrameType, text string, payload any) (Continued, error) {
	raw, err := encodeParams(payload)
	if err != nil {
		return Continued{}, fmt.Errorf("%s: %w", kind, err)
	}
	f, err := r.pose(ctx, string(kind), beeos.Frame{Type: kind, RequestID: beeos.NewID(), Body: text, Payload: raw}, r.continuations)
	if err != nil {
		return Continued{}, err
	}
	said := Continued{Text: f.Body, Payload: f.Payload, Parts: f.Parts}
	var files struct {
		Attachments []Attachment `json:"attachments"`
	}
	if len(f.Payload) > 0 && f.Payload[0] == '{' {
		if err := json.Unmarshal(f.Payload, &files); err != nil {
			return said, fmt.Errorf("read the attachments of an answer: %w", err)
		}
	}
	said.Attachments = files.Attachments
	return said, nil
}
