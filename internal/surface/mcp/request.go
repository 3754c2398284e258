package mcp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// request is one HTTP request of a client, and the surface that it came to.
type request struct {
	call.Client
	g *Gateway
}

// newRequest is the request of a client that access has let in.
func (g *Gateway) newRequest(w http.ResponseWriter, r *http.Request, agentID string, caller beeos.Caller, e *catalog.Server) *request {
	x := &request{g: g}
	x.Runner, x.HTTP, x.Out = g.runner, r, wire.NewResponder(w, r)
	x.Out.DropAfter = g.opt.WriteWithin
	x.Caller, x.EndpointAgent, x.Agent, x.Lists = caller, agentID, e.Agent, e.Lists
	return x
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request, agentID string) {
	x, body := g.readRequest(w, r, agentID)
	if x == nil {
		return
	}
	defer x.Out.Close()
	if wire.Kind(body) == '[' {
		x.batch(body)
		return
	}
	if m := x.message(body); m != nil {
		result, err := x.handle(r.Context(), m)
		x.finish(m, result, err)
	}
}

// readRequest lets a request in and reads its body, or refuses it.
func (g *Gateway) readRequest(w http.ResponseWriter, r *http.Request, agentID string) (*request, []byte) {
	caller, e, err := g.access(r, agentID)
	var body []byte
	if err == nil {
		body, err = httpd.ReadJSON(w, r, maxBody)
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return nil, nil
	}
	x := g.newRequest(w, r, agentID, caller, e)
	if !x.Out.AcceptsJSON && !x.Out.AcceptsStream {
		x.Out.SendError(r, nil, wire.Unversioned, wire.WithStatus(http.StatusNotAcceptable, beeos.Errorf(beeos.InvalidBody, "answers are application/json or text/event-stream: accept one of them")))
		return nil, nil
	}
	return x, body
}

// message reads the one message of a body, or refuses it.
func (x *request) message(body []byte) *wire.Message {
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

// finish sends what came of a message.
func (x *request) finish(m *wire.Message, result []byte, err error) {
	switch {
	case x.HTTP.Context().Err() != nil && x.g.opt.Context.Err() == nil: // nobody is there to read an answer; at our own end somebody is
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
	id := x.HTTP.Header.Get(wire.HeaderSession)
	if id == "" {
		return nil
	}
	s, err := x.g.sessions.OpenSession(x.EndpointAgent, x.Caller.Principal(), id)
	if err != nil {
		return err
	}
	// What was negotiated counts. Some clients name their own newest revision
	// in the header of every request.
	x.Session, x.Version, x.Can = s, s.Version, s.Can
	return nil
}

// initialize agrees on a revision and begins a session.
func (x *request) initialize(params []byte) ([]byte, error) {
	name, ok := strictjson.StringValue(strictjson.Field(params, "protocolVersion"))
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.protocolVersion must be a string")
	}
	v := wire.VersionOf(name)
	if v == wire.Unversioned {
		v = wire.NewestHandshake
	}
	s := sessions.NewSession(min(v, wire.NewestHandshake), wire.ReadCapabilities(strictjson.Field(params, "capabilities")), x.g.opt.Now())
	if x.OldTransport {
		x.Session.Version, x.Session.Can = s.Version, s.Can
		x.Version, x.Can = s.Version, s.Can
	} else {
		x.Out.Header()[wire.HeaderSession] = []string{x.Runner.Sealer.SessionID(x.EndpointAgent, x.Caller.Principal(), s)}
	}
	b := []byte(`{"protocolVersion":"` + s.Version.String() + `",`)
	return append(append(b, x.Lists.InitializeMembers...), '}'), nil
}

// serveDelete ends a session, at every replica.
func (g *Gateway) serveDelete(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, _, err := g.access(r, agentID)
	var s *sessions.Session
	if err == nil {
		s, err = g.sessions.OpenSession(agentID, caller.Principal(), r.Header.Get(wire.HeaderSession))
	}
	if err == nil {
		err = g.sessions.EndSession(r.Context(), s, s.Expires())
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
