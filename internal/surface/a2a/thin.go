package a2a

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const maxTimeoutMS = 115_000

// thinAnswer is what the plain way to ask answers with.
type thinAnswer struct {
	Message   string `json:"message"` // "ok"
	Text      string `json:"text"`
	ContextID string `json:"context_id"`
	IsError   bool   `json:"is_error"`
}

// serveInvoke is for those who want an answer and nothing of the protocol:
// message in, text out, as one body or as server-sent events.
func (g *Gateway) serveInvoke(w http.ResponseWriter, r *http.Request, agentID string) {
	if r.Method != http.MethodPost {
		notHere(w, r)
		return
	}
	caller, agent, err := g.access(r, agentID)
	var req invoke.Request
	if err == nil {
		x := &exchange{g: g, w: w, r: r, caller: caller, agent: agent, dialect: legacy}
		req, err = x.readInvoke()
	}
	if err == nil && strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		req.Live = true
		err = g.streamInvoke(w, r, req)
	} else if err == nil {
		err = g.answerInvoke(w, r, req)
	}
	if err != nil {
		challenge(w, err)
		httpd.WriteError(w, r, plain(err))
	}
}

// plain is a refusal of the protocol's as an error of REST's.
func plain(err error) error {
	f := faultOf(err)
	if f.public == nil {
		return beeos.Errorf(beeos.InvalidParam, "%s", f.message)
	}
	return err
}

func (x *exchange) readInvoke() (req invoke.Request, err error) {
	body, err := httpd.ReadJSON(x.w, x.r, messageLimit)
	if err != nil {
		return req, err
	}
	p, err := readParams([]byte(strings.TrimSpace(string(body))))
	if err != nil {
		return req, err
	}
	m := &incoming{}
	if err := p.texts(map[string]*string{"message": &m.text, "contextId": &m.context, "idempotencyKey": &m.id}); err != nil {
		return req, err
	}
	timeout, err := p.number("timeoutMs")
	switch {
	case err != nil:
		return req, err
	case strings.TrimSpace(m.text) == "":
		return req, beeos.Errorf(beeos.InvalidParam, "message is required and must say something")
	case timeout != nil && (*timeout < 0 || *timeout > maxTimeoutMS):
		return req, beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 (the agent's own) to %d", maxTimeoutMS)
	case p.has("attachments") && json.Unmarshal(p["attachments"], &m.files) != nil:
		return req, beeos.Errorf(beeos.InvalidBody, "attachments must be a list of {file_id, filename, content_type}")
	}
	if req, err = x.request(m); err == nil && timeout != nil {
		req.Timeout = time.Duration(*timeout) * time.Millisecond
	}
	return req, err
}

func (g *Gateway) answerInvoke(w http.ResponseWriter, r *http.Request, req invoke.Request) error {
	m, err := invoke.Last(g.opt.Calls.Do(r.Context(), &req))
	if err != nil {
		return err
	}
	httpd.WriteJSON(w, http.StatusOK, thinAnswer{"ok", m.Body, contextOf(req.Call.Metadata, m.Channel), m.IsError()})
	return nil
}

// streamInvoke sends agent_reply_delta frames, then agent_reply.
func (g *Gateway) streamInvoke(w http.ResponseWriter, r *http.Request, req invoke.Request) error {
	var sse *httpd.SSE
	defer func() {
		if sse != nil {
			sse.Close()
		}
	}()
	send := func(name string, v any) bool {
		if sse == nil {
			sse = httpd.NewSSE(w)
			sse.KeepAlive(keepAlive)
		}
		data, err := beeos.EncodeJSON(v)
		return err == nil && sse.Event(name, "", data) == nil
	}
	for ev, err := range g.opt.Calls.Do(r.Context(), &req) {
		switch {
		case err != nil && sse == nil:
			return err
		case err != nil:
			public := beeos.Public(err)
			httpd.Report(r, err)
			send("error", map[string]any{"code": public.Code, "message": public.Message})
			return nil
		case ev.Kind == beeos.EventDelta && ev.Text != "":
			if !send("agent_reply_delta", map[string]string{"text": ev.Text}) {
				return nil
			}
		case ev.Kind == beeos.EventMessage && ev.Message.Type.Terminal():
			m := ev.Message
			send("agent_reply", thinAnswer{"ok", m.Body, contextOf(req.Call.Metadata, m.Channel), m.IsError()})
		}
	}
	return nil
}
