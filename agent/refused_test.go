package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

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

// TestLargeFrames: a gateway hangs up on a frame that is too large, which
// costs all other answers their connection. So none is sent.
func TestLargeFrames(t *testing.T) {
	huge := strings.Repeat("ä\u2028", 300<<10)
	g := newFakeGateway(t)
	finish := make(chan struct{})
	conn, _ := g.start(g.options(), func(ctx context.Context, m Message, r *Reply) error {
		if m.ID == "text" {
			err := errors.Join(r.Delta(huge), r.Reasoning(huge))
			<-finish
			return err
		}
		r.Log(slog.LevelInfo, "", huge)
		_ = r.Progress(1, 2, huge) // dropped: it is worth no answer
		_ = r.Part(map[string]string{"type": "text", "text": huge})
		for _, err := range []error{
			second(r.Ask(ctx, "k", "elicitation/create", huge)), second(r.InputRequired(ctx, huge, nil)), r.Approve(ctx, "save", huge),
		} {
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a question that cannot be sent: %v", err)
			}
		}
		return nil
	})
	conn.send(beeos.Frame{
		Type: beeos.FrameMessage, MessageID: "rest", ChannelID: "ch-1", Payload: json.RawMessage(`{"can":["elicitation"]}`),
		DeadlineMS: time.Now().Add(time.Minute).UnixMilli(),
	})
	if f := conn.expect(beeos.FrameReply); !f.IsError || len(f.Body) > 200 {
		t.Errorf("got %.200s", encode(f))
	}
	conn.ack("rest", "")
	conn.message("text", "", beeos.Call{})
	var said, thought string
	for len(said) < len(huge) || len(thought) < len(huge) {
		f := conn.expect(beeos.FrameDelta)
		if len(encode(f)) > maxReply {
			t.Fatalf("a frame of %d bytes", len(encode(f)))
		}
		said, thought = said+f.Text, thought+f.Reasoning
	}
	if said != huge || thought != huge {
		t.Error("something else arrived than was said")
	}
	conn.ws.CloseNow()
	conn = g.next()
	conn.expect(beeos.FrameWorking)
	conn.message("text", "", beeos.Call{}) // nor is it said again in one piece
	close(finish)
	if f := conn.expect(beeos.FrameReply); !f.IsError {
		t.Errorf("got %.200s", encode(f))
	}
	conn.ack("text", "")
}

func second[T any](_ T, err error) error { return err }
