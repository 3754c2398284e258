package calls

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// answerView is the contract's InvokeAgentResponse, with what the agent said
// besides text: files, for one.
type answerView struct {
	Text      string          `json:"text"`
	ContextID string          `json:"context_id"`
	IsError   bool            `json:"is_error"`
	Parts     json.RawMessage `json:"parts,omitempty"`
}

// invoke asks an agent and answers with its reply: as one JSON body, or as
// server-sent events when that is what the client accepts.
func (h *Handlers) invoke(r *route.Request) (any, error) {
	var timeout int64
	req, err := h.readCall(r, route.Shape{"timeout_ms": &timeout})
	if err == nil && (timeout < 0 || timeout > maxTimeoutMS) {
		err = beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 (the agent's own) to %d; longer work is a task", maxTimeoutMS)
	}
	if err != nil {
		return nil, err
	}
	req.Timeout, req.Live = time.Duration(timeout)*time.Millisecond, acceptsEvents(r.Request)
	req.KeepTimeout = timeout > 0 && !req.Live // a stream says that it is suspended, one answer could not
	if req.Live {
		return h.streamInvoke(r, &req), nil
	}
	return h.answerInvoke(r, &req)
}

func (h *Handlers) answerInvoke(r *route.Request, req *invoke.Request) (_ any, err error) {
	var last beeos.Event
	for last, err = range h.opt.Calls.Do(r.Context(), req) {
		if err != nil {
			return nil, renameOffline(r.Request, err)
		}
	}
	m := last.Message
	if err := refusalError(m); err != nil {
		return nil, err
	}
	r.MarkReplay(last.Replayed)
	return answerView{Text: m.Body, ContextID: m.Channel, IsError: m.IsError(), Parts: viewParts(m.Parts)}, nil
}

func acceptsEvents(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
			return true
		}
	}
	return false
}

// refusalError turns the terminal messages that are no answer at all into the
// errors that the contract has for them.
func refusalError(m *beeos.Message) error {
	switch {
	case m.Type == beeos.AgentBusy || m.Type == beeos.AgentRefuse:
		return beeos.Errorf(beeos.Conflict, "%s", cmp.Or(m.Body, "the agent is busy or refused"))
	case m.IsError() && m.StopReason == beeos.StopTimeout:
		return beeos.Errorf(beeos.ServiceTimeout, "the agent did not answer in time")
	}
	return nil
}

// renameOffline renames an offline agent as the contract wants it on invoke. The
// operator sees what it was.
func renameOffline(r *http.Request, err error) error {
	httpd.CountRefusal(r, err)
	if beeos.CodeOf(err) == beeos.AgentOffline {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "%s", beeos.Public(err).Message)
	}
	return err
}
