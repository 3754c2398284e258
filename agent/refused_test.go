package agent

import (
	"context"
	"testing"

	"github.com/beeos/beeos"
)

// TestRefusedQuestion: a question that the gateway cannot use has failed. An
// agent that went on waiting would do so until the deadline.
func TestRefusedQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		ask  Handler
		kind beeos.FrameType
	}{
		"ask": {func(ctx context.Context, _ Message, r *Reply) error {
			_, err := r.Ask(ctx, "approval-1", "elicitation/create", nil)
			return err
		}, beeos.FrameRequest},
		"pause": {func(ctx context.Context, _ Message, r *Reply) error {
			_, err := r.InputRequired(ctx, "which one?", nil)
			return err
		}, beeos.FrameInputRequired},
	} {
		t.Run(name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), c.ask)
			conn.message("m", "", beeos.Call{Can: []string{"elicitation"}})
			f := conn.expect(c.kind)
			fault := &beeos.FrameFault{Code: "invalid_param", Message: "not like this"}
			conn.send(
				beeos.Frame{Type: beeos.FrameError, MessageID: "m", Error: fault}, // some other frame's
				beeos.Frame{Type: beeos.FrameError, MessageID: "m", RequestID: f.RequestID, Error: fault},
			)
			if got := conn.expect(beeos.FrameReply); !got.IsError || f.RequestID == "" {
				t.Errorf("asked %s, got %s", encode(f), encode(got))
			}
			conn.ack("m", "")
		})
	}
}
