package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// request is one HTTP request of a client, and the surface that it came to.
type request struct {
	call.Client
	surface *Surface
	w       http.ResponseWriter
	body    []byte       // strict JSON; nil = not read yet
	open    *auth.Stream // nil = the client takes no stream
	began   time.Time    // when the request under way did
}

// newRequest finds out who is calling and which agent. With an error, all that
// can be done with the request is to refuse it.
func (s *Surface) newRequest(w http.ResponseWriter, r *http.Request, agentID string) (*request, error) {
	x := &request{surface: s, w: w}
	x.Runner, x.HTTP, x.EndpointAgent, x.Out = s.runner, r, agentID, wire.NewResponder(w, r)
	x.Out.DropAfter = s.opt.WriteWithin
	caller, e, err := s.authorize(r, agentID)
	if err != nil {
		return x, err
	}
	x.Caller, x.Agent, x.Lists = caller, e.Agent, e.Lists
	return x, nil
}

// openStream lets the answer become a stream, which ends when its credential
// does: at once, and nothing is sent on it from then on.
func (x *request) openStream() (closeIt func()) {
	agent := x.Agent
	if x.EndpointAgent == "" {
		agent = nil // of all of them, some may remain
	}
	x.open, x.HTTP = x.surface.opt.Auth.OpenStream(x.HTTP, x.surface.audience(x.EndpointAgent), x.Caller, agent)
	x.Out.Permit = x.open.Check
	return x.open.Close
}

// answerPost answers a message, or a batch of them.
func (x *request) answerPost() {
	body, err := httpd.ReadJSON(x.w, x.HTTP, maxBody)
	x.body = body
	if err == nil && !x.Out.AcceptsJSON && !x.Out.AcceptsStream {
		err = wire.WithStatus(http.StatusNotAcceptable, beeos.Errorf(beeos.InvalidBody, "answers are application/json or text/event-stream: accept one of them"))
	}
	if err != nil {
		x.refuse(err)
		return
	}
	if wire.Kind(body) == '[' {
		x.answerBatch(body)
		return
	}
	if m := x.readMessage(body); m != nil {
		result, err := x.handle(x.HTTP.Context(), m)
		x.sendOutcome(m, result, err)
	}
}

// readMessage reads the one message of a body, or refuses it.
func (x *request) readMessage(body []byte) *wire.Message {
	m, err := wire.ParseMessage(body)
	if err == nil {
		err = x.settleVersion(&m)
	}
	if err != nil {
		x.Out.SendError(x.HTTP, m.ID, x.Version, err)
		return nil
	}
	return &m
}

// sendOutcome sends what came of a message.
func (x *request) sendOutcome(m *wire.Message, result []byte, err error) {
	switch {
	case x.open != nil && x.open.Err() != nil: // revoked; a stream just ends
		if !x.Out.IsStream() {
			x.refuse(x.open.Err())
		}
	case x.HTTP.Context().Err() != nil && x.surface.opt.Context.Err() == nil: // nobody is there to read an answer; at our own end somebody is
	case errors.Is(err, call.ErrClientReturns):
		x.Out.StartStream()
	case err != nil && m.IsResponse():
		x.Out.SendError(x.HTTP, nil, x.Version, err) // its id is not one of the client's requests
	case err != nil:
		x.Out.SendError(x.HTTP, m.ID, x.Version, err)
	case result == nil:
		x.Out.SendAccepted()
	default:
		x.SendResult(m, result)
	}
}

// settleVersion finds the revision and the session that m belongs to.
// initialize begins both, whatever headers a client still has.
func (x *request) settleVersion(m *wire.Message) error {
	x.Meta = wire.ReadMeta(m.Params)
	name := strings.Join(x.HTTP.Header[wire.HeaderVersion], ",") // two of them are no version at all
	switch {
	case x.isModern(m, name):
		return x.settleModern(m, name)
	case m.Method == "initialize":
		return nil
	case name != "":
		if x.Version = wire.VersionOf(name); x.Version == wire.Unversioned {
			return wire.UnsupportedVersion(name)
		}
	}
	if x.HTTP.Header.Get(wire.HeaderSession) == "" {
		return nil
	}
	return x.openSession()
}

// openSession opens the session that the request names. What was negotiated in
// it counts: some clients name their own newest revision in the header of every
// request.
func (x *request) openSession() error {
	s, err := x.surface.sessions.OpenSession(x.EndpointAgent, x.Caller.Principal(), x.HTTP.Header.Get(wire.HeaderSession))
	if err == nil {
		x.Session, x.Version, x.Can = s, s.Version, s.Can
	}
	return err
}

// initialize agrees on a revision and begins a session.
func (x *request) initialize(_ context.Context, m *wire.Message) ([]byte, error) {
	name, ok := strictjson.StringField(m.Params, "protocolVersion")
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.protocolVersion must be a string")
	}
	v := wire.VersionOf(name)
	if v == wire.Unversioned {
		v = wire.NewestHandshake
	}
	s := sessions.NewSession(min(v, wire.NewestHandshake), wire.ReadCapabilities(strictjson.Field(m.Params, "capabilities")), x.surface.opt.Now())
	if x.OldTransport {
		x.Session.Version, x.Session.Can = s.Version, s.Can
		x.Version, x.Can = s.Version, s.Can
	} else {
		x.Out.Header()[wire.HeaderSession] = []string{x.Runner.Sealer.SessionID(x.EndpointAgent, x.Caller.Principal(), s)}
	}
	b := []byte(`{"protocolVersion":"` + s.Version.String() + `",`)
	return append(append(b, x.Lists.InitializeMembers...), '}'), nil
}

// endSession ends a session, at every replica.
func (x *request) endSession() {
	err := x.openSession()
	if err == nil {
		err = x.surface.sessions.EndSession(x.HTTP.Context(), x.Caller.Principal(), x.Session, x.Session.Expires())
	}
	if err != nil {
		x.refuse(err)
		return
	}
	x.w.WriteHeader(http.StatusNoContent)
}
