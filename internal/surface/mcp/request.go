package mcp

import (
	"errors"
	"net/http"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// request is one HTTP request of a client, and the surface that it came to.
type request struct {
	client
	g *Gateway
}

// newRequest is the request of a client that access has let in.
func (g *Gateway) newRequest(w http.ResponseWriter, r *http.Request, agentID string, caller beeos.Caller, e *server) *request {
	x := &request{g: g}
	x.runner, x.r, x.out = g.runner, r, newResponder(w, r)
	x.out.dropAfter = g.opt.WriteWithin
	x.caller, x.endpointAgent, x.agent, x.lists = caller, agentID, e.agent, e.lists
	return x
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request, agentID string) {
	x, body := g.readRequest(w, r, agentID)
	if x == nil {
		return
	}
	defer x.out.close()
	if kind(body) == '[' {
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
	if !x.out.acceptsJSON && !x.out.acceptsStream {
		x.out.sendError(r, nil, unversioned, withStatus(http.StatusNotAcceptable, beeos.Errorf(beeos.InvalidBody, "answers are application/json or text/event-stream: accept one of them")))
		return nil, nil
	}
	return x, body
}

// message reads the one message of a body, or refuses it.
func (x *request) message(body []byte) *message {
	m, err := parseMessage(body)
	if err == nil {
		err = x.settleVersion(&m)
	}
	if err != nil {
		x.out.sendError(x.r, m.id, x.version, err)
		return nil
	}
	return &m
}

// finish sends what came of a message.
func (x *request) finish(m *message, result []byte, err error) {
	switch {
	case x.r.Context().Err() != nil && x.g.opt.Context.Err() == nil: // nobody is there to read an answer; at our own end somebody is
	case errors.Is(err, errClientReturns):
		x.out.startStream()
	case err != nil && m.isResponse():
		x.out.sendError(x.r, nil, x.version, err) // its id is not one of the client's requests
	case err != nil:
		x.out.sendError(x.r, m.id, x.version, err)
	case result == nil:
		x.out.sendAccepted()
	default:
		x.sendResult(m, result)
	}
}

// settleVersion finds the revision and the session that m belongs to. initialize
// begins both, whatever headers a client still has.
func (x *request) settleVersion(m *message) error {
	x.meta = readMeta(m.params)
	name := strings.Join(x.r.Header[headerVersion], ",") // two of them are no version at all
	switch {
	case x.isModern(m, name):
		return x.settleModern(m, name)
	case m.method == "initialize":
		return nil
	case name != "":
		if x.version = versionOf(name); x.version == unversioned {
			return unsupportedVersion(name)
		}
	}
	id := x.r.Header.Get(headerSession)
	if id == "" {
		return nil
	}
	s, err := x.g.sessions.openSession(x.endpointAgent, x.caller.Principal(), id)
	if err != nil {
		return err
	}
	// What was negotiated counts. Some clients name their own newest revision
	// in the header of every request.
	x.session, x.version, x.can = s, s.version, s.can
	return nil
}

// initialize agrees on a revision and begins a session.
func (x *request) initialize(params []byte) ([]byte, error) {
	name, ok := httpd.StringValue(httpd.Field(params, "protocolVersion"))
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.protocolVersion must be a string")
	}
	v := versionOf(name)
	if v == unversioned {
		v = newestHandshake
	}
	s := newSession(min(v, newestHandshake), capabilities(httpd.Field(params, "capabilities")), x.g.opt.Now())
	if x.oldTransport {
		x.session.version, x.session.can = s.version, s.can
		x.version, x.can = s.version, s.can
	} else {
		x.out.w.Header()[headerSession] = []string{x.runner.Sealer.sessionID(x.endpointAgent, x.caller.Principal(), s)}
	}
	b := []byte(`{"protocolVersion":"` + s.version.String() + `",`)
	return append(append(b, x.lists.initializeMembers...), '}'), nil
}

// serveDelete ends a session, at every replica.
func (g *Gateway) serveDelete(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, _, err := g.access(r, agentID)
	var s *session
	if err == nil {
		s, err = g.sessions.openSession(agentID, caller.Principal(), r.Header.Get(headerSession))
	}
	if err == nil {
		err = g.sessions.endSession(r.Context(), s, s.expires())
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
