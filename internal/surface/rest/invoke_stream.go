package rest

import (
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// invokeFrame is one data: line of the contract's InvokeEventStream.
type invokeFrame struct {
	Type       string          `json:"type"` // delta, reasoning, error, done
	Text       *string         `json:"text,omitempty"`
	Part       json.RawMessage `json:"part,omitempty"`
	Code       beeos.Code      `json:"code,omitempty"`
	StatusCode int             `json:"status_code,omitempty"` // with error
	Message    string          `json:"message,omitempty"`     // with error
	Error      string          `json:"error,omitempty"`       // with a failed done
	ContextID  string          `json:"context_id,omitempty"`
	IsError    *bool           `json:"is_error,omitempty"` // with done
	Parts      json.RawMessage `json:"parts,omitempty"`    // with done
}

// streamInvoke writes frames as they come. A call that fails before its first
// event is refused with a plain status; later an error frame and a failed
// done frame end the stream.
func (s *Surface) streamInvoke(w http.ResponseWriter, r *http.Request, req *invoke.Request) error {
	var sse *httpd.SSE
	send := func(f invokeFrame) error {
		if sse == nil {
			sse = httpd.NewSSE(w)
			sse.KeepAlive(keepAlive)
		}
		data, err := json.Marshal(f)
		if err != nil {
			return err
		}
		return sse.Event("", "", data)
	}
	defer func() {
		if sse != nil {
			sse.Close()
		}
	}()
	for ev, err := range s.Calls.Do(r.Context(), req) {
		var frames []invokeFrame
		switch {
		case err != nil && sse == nil:
			return unavailable(err)
		case err != nil:
			frames = failed(r, unavailable(err))
		default:
			markReplay(w, ev.Replayed && sse == nil)
			frames = framesOf(r, ev)
		}
		for _, f := range frames {
			if send(f) != nil {
				return nil // the client is gone; the turn goes on without it
			}
		}
	}
	return nil
}

// framesOf translates one event of the call.
func framesOf(r *http.Request, ev beeos.Event) []invokeFrame {
	if ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal() {
		return done(r, ev.Message)
	}
	if ev.Kind != beeos.EventDelta {
		return nil
	}
	var frames []invokeFrame
	if ev.Reasoning != "" {
		frames = append(frames, invokeFrame{Type: "reasoning", Text: &ev.Reasoning})
	}
	if ev.Text != "" || ev.Part != nil {
		frames = append(frames, invokeFrame{Type: "delta", Text: &ev.Text, Part: ev.Part})
	}
	return frames
}

// done ends a stream with the whole reply.
func done(r *http.Request, m *beeos.Message) []invokeFrame {
	if err := refusal(m); err != nil {
		return failed(r, err)
	}
	isError := m.IsError()
	f := invokeFrame{Type: "done", Text: &m.Body, ContextID: m.Channel, IsError: &isError, Parts: m.Parts}
	if isError {
		f.Code, f.Error = beeos.Code(m.Type), m.Body
	}
	return []invokeFrame{f}
}

// failed ends a stream that got no reply: an error frame for those who read
// it, and the same in done for those who wait for that alone.
func failed(r *http.Request, err error) []invokeFrame {
	e := beeos.Public(err)
	status := httpd.Status(e.Code)
	if status >= http.StatusInternalServerError {
		httpd.Report(r, err)
	}
	isError, text := true, ""
	return []invokeFrame{
		{Type: "error", Code: e.Code, StatusCode: status, Message: e.Message},
		{Type: "done", Text: &text, IsError: &isError, Code: e.Code, Error: e.Message},
	}
}
