package a2a

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/a2a/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const maxTimeoutMS = 115_000

// plainAnswer is what the plain way to ask answers with.
type plainAnswer struct {
	Message   string `json:"message"` // "ok"
	Text      string `json:"text"`
	ContextID string `json:"context_id"`
	IsError   bool   `json:"is_error"`
}

// servePlainInvoke is for those who want an answer and nothing of the protocol:
// message in, text out, as one body or as server-sent events.
func (s *Surface) servePlainInvoke(w http.ResponseWriter, r *http.Request, agentID string) {
	if r.Method != http.MethodPost {
		refusePath(w, r)
		return
	}
	o := &operation{surface: s, w: w, r: r, dialect: wire.Legacy}
	var req invoke.Request
	err := o.authorize(agentID)
	if err == nil {
		req, err = o.readPlainInvoke()
	}
	if err == nil && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		req.Live = true
		err = o.streamInvoke(req)
	} else if err == nil {
		err = s.answerInvoke(w, r, req)
	}
	if err != nil {
		wire.Challenge(w, err)
		httpd.WriteError(w, r, wire.PlainError(err))
	}
}

func (o *operation) readPlainInvoke() (req invoke.Request, err error) {
	body, err := httpd.ReadJSON(o.w, o.r, messageLimit)
	if err != nil {
		return req, err
	}
	p, err := wire.ReadParams(body)
	if err != nil {
		return req, err
	}
	m := &wire.Message{Text: p.Text("message"), ContextID: p.Text("contextId"), ID: p.Text("idempotencyKey")}
	timeout := p.Number("timeoutMs")
	switch {
	case p.Err() != nil:
		return req, p.Err()
	case strings.TrimSpace(m.Text) == "":
		return req, beeos.Errorf(beeos.InvalidParam, "message is required and must say something")
	case timeout != nil && (*timeout < 0 || *timeout > maxTimeoutMS):
		return req, beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 (the agent's own) to %d", maxTimeoutMS)
	case p.Has("attachments") && json.Unmarshal(p.Raw("attachments"), &m.Files) != nil:
		return req, beeos.Errorf(beeos.InvalidBody, "attachments must be a list of {file_id, filename, content_type}")
	}
	if req, err = o.newRequest(m); err == nil && timeout != nil {
		req.Timeout = time.Duration(*timeout) * time.Millisecond
	}
	return req, err
}

func (s *Surface) answerInvoke(w http.ResponseWriter, r *http.Request, req invoke.Request) error {
	m, err := invoke.Last(s.opt.Calls.Do(r.Context(), &req))
	if err != nil {
		return err
	}
	httpd.WriteJSON(w, http.StatusOK, plainAnswer{"ok", m.Body, wire.ContextOf(req.Call.Metadata, m.Channel), m.IsError()})
	return nil
}

// plainReply is the last frame of a stream.
type plainReply struct {
	Type beeos.MessageType `json:"type"`
	plainAnswer
}

// streamInvoke sends agent_reply_delta frames, then agent_reply. What a frame
// is stands in its name and in the type of its data: readers of plain data
// lines have no name to go by.
func (o *operation) streamInvoke(req invoke.Request) error {
	defer o.openStream().Close()
	var sse *httpd.SSE
	defer func() {
		if sse != nil {
			sse.Close()
		}
	}()
	send := func(name beeos.MessageType, v any) bool {
		if sse == nil {
			sse = httpd.NewSSE(o.w)
			sse.KeepAlive(keepAlive)
		}
		data, err := beeos.EncodeJSON(v)
		return err == nil && sse.Event(string(name), "", data) == nil
	}
	for ev, err := range o.surface.opt.Calls.Do(o.r.Context(), &req) {
		if ended := o.open.Check(); ended != nil {
			err = ended
		}
		switch {
		case err != nil && sse == nil:
			return err
		case err != nil:
			public := beeos.Public(err)
			httpd.Report(o.r, err)
			send("error", map[string]any{"type": "error", "code": public.Code, "message": public.Message})
			return nil
		case ev.Kind == beeos.EventDelta && ev.Text != "":
			if !send(beeos.AgentReplyDelta, map[string]any{"type": beeos.AgentReplyDelta, "text": ev.Text}) {
				return nil
			}
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			m := ev.Message
			send(beeos.AgentReply, plainReply{beeos.AgentReply, plainAnswer{"ok", m.Body, wire.ContextOf(req.Call.Metadata, m.Channel), m.IsError()}})
		}
	}
	return nil
}
