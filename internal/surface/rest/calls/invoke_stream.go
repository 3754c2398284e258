package calls

import (
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// invokeFrame is one data: line of the contract's InvokeEventStream.
type invokeFrame struct {
	Type       string          `json:"type"` // delta, reasoning, approval.requested, approval.decided, error, done
	Text       *string         `json:"text,omitempty"`
	Part       json.RawMessage `json:"part,omitempty"`
	Code       beeos.Code      `json:"code,omitempty"`
	StatusCode int             `json:"status_code,omitempty"` // with error
	Message    string          `json:"message,omitempty"`     // with error
	Error      string          `json:"error,omitempty"`       // with a failed done
	ContextID  string          `json:"context_id,omitempty"`
	IsError    *bool           `json:"is_error,omitempty"` // with done
	Parts      json.RawMessage `json:"parts,omitempty"`    // with done

	Approval         json.RawMessage `json:"approval,omitempty"`          // with approval.*: a beeos.ApprovalStep
	TimeoutSuspended *bool           `json:"timeout_suspended,omitempty"` // with approval.*: timeout_ms does not run while a person decides
}

// streamInvoke writes frames as they come. A call that fails before its first
// event is refused with a plain status; later an error frame and a failed
// done frame end the stream. So they do when the credential is revoked; the
// call itself goes on, as it does when the client leaves.
func (h *Handlers) streamInvoke(r *route.Request, req *invoke.Request) route.Writer {
	return func(w http.ResponseWriter) error {
		st := h.router.OpenStream(r)
		defer st.Close()
		var sse *httpd.SSE
		var told approvalSteps
		defer func() {
			if sse != nil {
				sse.Close()
			}
		}()
		for ev, err := range h.opt.Calls.Do(r.Context(), req) {
			if ended := st.Check(); ended != nil {
				ev, err = beeos.Event{}, ended
			}
			if err != nil && sse == nil {
				return renameOffline(r.Request, err)
			}
			if err == nil && told.repeats(&ev) {
				continue
			}
			r.MarkReplay(ev.Replayed && sse == nil)
			for _, f := range encodeFrames(r.Request, ev, err) {
				if sse == nil {
					sse = httpd.NewSSE(w)
					sse.KeepAlive(keepAlive)
				}
				if sendFrame(sse, f) != nil {
					return nil // the client is gone; the turn goes on without it
				}
			}
			if err != nil {
				return nil
			}
		}
		return nil
	}
}

func sendFrame(sse *httpd.SSE, f invokeFrame) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return sse.Event("", "", data)
}

// encodeFrames translates one event of the call, or the error that ends it.
func encodeFrames(r *http.Request, ev beeos.Event, err error) []invokeFrame {
	if err != nil {
		return encodeFailure(r, renameOffline(r, err))
	}
	if ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal() {
		return encodeDone(r, ev.Message)
	}
	if isApprovalStep(&ev) {
		suspended := ev.Method == beeos.ApprovalRequested
		return []invokeFrame{{Type: ev.Method, Text: &ev.Text, Approval: ev.Data, TimeoutSuspended: &suspended}}
	}
	if ev.Kind != beeos.EventDelta {
		return nil
	}
	var frames []invokeFrame
	if ev.Reasoning != "" {
		frames = append(frames, invokeFrame{Type: "reasoning", Text: &ev.Reasoning})
	}
	if ev.Part != nil {
		frames = append(frames, invokeFrame{Type: "delta", Text: &ev.Text, Part: viewPart(ev.Part)})
	} else if ev.Text != "" {
		frames = append(frames, invokeFrame{Type: "delta", Text: &ev.Text})
	}
	return frames
}

// encodeDone ends a stream with the whole reply.
func encodeDone(r *http.Request, m *beeos.Message) []invokeFrame {
	if err := refusalError(m); err != nil {
		httpd.CountRefusal(r, err)
		return encodeFailure(r, err)
	}
	isError := m.IsError()
	f := invokeFrame{Type: "done", Text: &m.Body, ContextID: m.Channel, IsError: &isError, Parts: viewParts(m.Parts)}
	if isError {
		f.Code, f.Error = beeos.Code(m.Type), m.Body
	}
	return []invokeFrame{f}
}

// encodeFailure ends a stream that got no reply: an error frame for those who
// read it, and the same in done for those who wait for that alone.
func encodeFailure(r *http.Request, err error) []invokeFrame {
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
