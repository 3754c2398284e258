package calls

import (
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

const (
	taskLife     = 24 * time.Hour     // of a request that sets no deadline
	maxDeadline  = 7 * 24 * time.Hour // how far ahead a deadline may lie
	maxTimeoutMS = 115_000            // how long a client may have to wait
	maxReason    = 1024               // characters of the reason for a cancel
)

// readRequest reads the body of a call into req: the idempotency key, which
// every call may have, and the members that the route names.
func readRequest(r *route.Request, s route.Strictness, req *invoke.Request, members route.Shape) error {
	members["idempotency_key"] = &req.IdempotencyKey
	err := r.ReadBody(s, members)
	if err == nil {
		err = invoke.CheckMetadata(req.Call.Metadata)
	}
	if err == nil {
		req.IdempotencyKey, err = r.IdempotencyKey(req.IdempotencyKey)
	}
	req.Caller, req.Surface, req.Entry.Method = r.Caller, "rest", r.Pattern
	return err
}

// readMessage reads a call that says something in its member message.
func readMessage(r *route.Request, req *invoke.Request, members route.Shape) error {
	var message *string
	members["message"] = &message
	err := readRequest(r, route.Lenient, req, members)
	switch {
	case err != nil:
		return err
	case message == nil:
		return beeos.Errorf(beeos.MissingParam, "message is required")
	case strings.TrimSpace(*message) == "":
		return beeos.Errorf(beeos.InvalidParam, "message is empty")
	}
	req.Body = *message
	return nil
}

// readCall reads what an invoke and a task have in common, and the members
// that are one's own, for the agent of the path.
func (h *Handlers) readCall(r *route.Request, own route.Shape) (req invoke.Request, err error) {
	if req.Agent, err = h.pathAgent(r); err != nil {
		return req, err
	}
	maps.Copy(own, route.Shape{"context_id": &req.ContextID, "metadata": &req.Call.Metadata, "attachments": &req.Attachments})
	req.KeepOpen = true // so that the context_id in the answer can be used to go on
	return req, readMessage(r, &req, own)
}

func checkReason(reason string) error {
	if utf8.RuneCountInString(reason) > maxReason {
		return beeos.Errorf(beeos.InvalidParam, "reason may have at most %d characters", maxReason)
	}
	return nil
}
