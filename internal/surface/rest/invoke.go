package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const maxTimeoutMS = 115_000

// channelID is what a context_id looks like that is a channel of ours.
var channelID = regexp.MustCompile(`^ch-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

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
func (s *Surface) invoke(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	req, err := s.readInvoke(w, r, c)
	if err != nil {
		return err
	}
	if req.Live {
		return s.streamInvoke(w, r, req)
	}
	return s.answerInvoke(w, r, req)
}

func (s *Surface) answerInvoke(w http.ResponseWriter, r *http.Request, req *invoke.Request) (err error) {
	var last beeos.Event
	for last, err = range s.Calls.Do(r.Context(), req) {
		if err != nil {
			return unavailable(err)
		}
	}
	m := last.Message
	if err := refusal(m); err != nil {
		return err
	}
	markReplay(w, last.Replayed)
	httpd.WriteData(w, http.StatusOK, answerView{Text: m.Body, ContextID: m.Channel, IsError: m.IsError(), Parts: m.Parts})
	return nil
}

// readInvoke reads the contract's InvokeAgentRequest, to an agent in the path
// that the caller reaches.
func (s *Surface) readInvoke(w http.ResponseWriter, r *http.Request, c beeos.Caller) (*invoke.Request, error) {
	a, err := s.reachable(r, c)
	if err != nil {
		return nil, err
	}
	var timeout int64
	req, err := readRequest(w, r, shape{"timeout_ms": &timeout})
	if err == nil && (timeout < 0 || timeout > maxTimeoutMS) {
		err = beeos.Errorf(beeos.InvalidParam, "timeout_ms must be from 0 (the agent's own) to %d; longer work is a task", maxTimeoutMS)
	}
	req.Timeout = time.Duration(timeout) * time.Millisecond
	req.Caller, req.Agent, req.Live = c, a, acceptsEvents(r)
	return &req, err
}

// readRequest reads what an invoke and a task have in common, and the members
// in more that are one's own.
func readRequest(w http.ResponseWriter, r *http.Request, more shape) (req invoke.Request, err error) {
	var message *string
	var key string
	maps.Copy(more, shape{
		"message": &message, "context_id": &req.ContextID, "idempotency_key": &key, "metadata": &req.Call.Metadata,
		"attachments": &req.Attachments,
	})
	err = read(w, r, messageLimit, false, more)
	switch {
	case err != nil:
		return req, err
	case message == nil:
		return req, beeos.Errorf(beeos.MissingParam, "message is required")
	case strings.TrimSpace(*message) == "":
		return req, beeos.Errorf(beeos.InvalidParam, "message is empty")
	}
	if err := invoke.CheckMetadata(req.Call.Metadata); err != nil {
		return req, err
	}
	// Open, so that the context_id in the answer can be used to go on.
	req.Surface, req.Body, req.KeepOpen = "rest", *message, true
	req.IdempotencyKey, err = idempotencyKey(r, key)
	return req, err
}

// markReplay says in a header that the answer is the one of an earlier request
// under the same idempotency key.
func markReplay(w http.ResponseWriter, replayed bool) {
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
}

// idempotencyKey accepts the key in the header, in the body, or in both when
// they agree.
func idempotencyKey(r *http.Request, inBody string) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	switch {
	case key == "":
		key = inBody
	case inBody != "" && inBody != key:
		return "", beeos.Errorf(beeos.InvalidParam, "the Idempotency-Key header and idempotency_key differ")
	}
	return key, invoke.CheckIdempotencyKey(key)
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

// refusal turns the terminal messages that are no answer at all into the
// errors that the contract has for them.
func refusal(m *beeos.Message) error {
	switch {
	case m.Type == beeos.AgentBusy || m.Type == beeos.AgentRefuse:
		return beeos.Errorf(beeos.Conflict, "%s", orElse(m.Body, "the agent is busy or refused"))
	case m.IsError() && m.StopReason == beeos.StopTimeout:
		return beeos.Errorf(beeos.ServiceTimeout, "the agent did not answer in time")
	}
	return nil
}

// unavailable renames an offline agent as the contract wants it on invoke.
func unavailable(err error) error {
	if beeos.CodeOf(err) == beeos.AgentOffline {
		return beeos.Errorf(beeos.AgentServiceUnavailable, "%s", beeos.Public(err).Message)
	}
	return err
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
