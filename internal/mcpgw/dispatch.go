package mcpgw

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/httpd"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"

	batchMax = 50 // messages
)

// exchange is one POST: who sent it to which agent, in which revision and
// session, and where its answers go.
type exchange struct {
	g       *Gateway
	r       *http.Request
	caller  beeos.Caller
	agent   *beeos.Agent
	lists   *lists
	version version
	session *session // nil without one
	out     *responder
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request, agentID string) {
	caller, e, err := g.access(r, agentID)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	body, err := httpd.ReadJSON(w, r, maxBody)
	if err != nil {
		g.refuse(w, r, agentID, err)
		return
	}
	x := &exchange{g: g, r: r, caller: caller, agent: e.agent, lists: e.lists, out: newResponder(w, r)}
	defer x.out.close()
	if !x.out.json && !x.out.streams {
		x.out.fail(r, nil, bare, &fault{
			err:    beeos.Errorf(beeos.InvalidBody, "answers are application/json or text/event-stream: accept one of them"),
			number: numbers[beeos.InvalidBody],
			status: http.StatusNotAcceptable,
		})
		return
	}
	if kind(body) == '[' {
		x.batch(body)
		return
	}
	x.single(body)
}

func (x *exchange) single(body []byte) {
	m, err := parse(body)
	if err == nil {
		err = x.open(&m)
	}
	if err != nil {
		x.out.fail(x.r, m.id, x.version, err)
		return
	}
	result, err := x.handle(x.r.Context(), &m)
	switch {
	case x.r.Context().Err() != nil && x.g.opt.Context.Err() == nil: // nobody is there to read an answer; at our own end somebody is
	case err != nil && m.isResponse():
		x.out.fail(x.r, nil, x.version, err) // its id is not one of the client's requests
	case err != nil:
		x.out.fail(x.r, m.id, x.version, err)
	case result == nil:
		x.out.accepted()
	default:
		x.out.send(http.StatusOK, append(appendHead(nil, m.id), `,"result":`...), result, []byte{'}'})
	}
}

// open finds the revision and the session that m belongs to. initialize
// begins both, whatever headers a client still has.
func (x *exchange) open(m *message) error {
	if m.method == "initialize" {
		return nil
	}
	if name := x.r.Header.Get(headerVersion); name != "" {
		if x.version = versionOf(name); x.version == bare {
			return unsupportedVersion(name)
		}
	}
	id := x.r.Header.Get(headerSession)
	if id == "" {
		return nil
	}
	s, ok := x.g.sealer.session(x.agent.ID, x.caller.Principal(), id)
	if !ok {
		return unknownSession()
	}
	// What was negotiated counts. Some clients name their own newest revision
	// in the header of every request.
	x.session, x.version = s, s.version
	return nil
}

// batch answers an array of messages with an array, one after the other and
// without events: it exists in one old revision only.
func (x *exchange) batch(body []byte) {
	var list []json.RawMessage
	err := x.open(&message{})
	if err == nil && !x.version.batches() {
		err = beeos.Errorf(beeos.InvalidBody, "send one message at a time: this protocol version has no batches")
	}
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err == nil && (len(list) == 0 || len(list) > batchMax) {
		err = beeos.Errorf(beeos.InvalidBody, "a batch has 1 to %d messages", batchMax)
	}
	if err != nil {
		x.out.fail(x.r, nil, x.version, err)
		return
	}
	x.out.streams = false
	var answers []byte
	for _, one := range list {
		if answer := x.one(one); answer != nil {
			answers = append(append(answers, ','), answer...)
		}
	}
	if answers == nil {
		x.out.accepted()
		return
	}
	answers[0] = '['
	x.out.send(http.StatusOK, nil, answers, []byte{']'})
}

// one answers a message of a batch; nil for one that has no answer.
func (x *exchange) one(body []byte) []byte {
	m, err := parse(bytes.TrimSpace(body))
	var result []byte
	if err == nil && m.method == "initialize" {
		err = beeos.Errorf(beeos.InvalidBody, "initialize cannot be part of a batch")
	}
	if err == nil {
		result, err = x.handle(x.r.Context(), &m)
	}
	switch {
	case err != nil && (m.id != nil || m.method == ""):
		f := faultOf(err)
		if f.ours() {
			httpd.Report(x.r, err)
		}
		return f.append(nil, m.id)
	case result == nil:
		return nil
	}
	return append(append(append(appendHead(nil, m.id), `,"result":`...), result...), '}')
}

// handle runs one message. A request has a result or an error; what has
// neither was a notification or a response.
func (x *exchange) handle(ctx context.Context, m *message) ([]byte, error) {
	if m.isResponse() {
		return nil, x.answer(ctx, m)
	}
	if m.isNotification() {
		if m.method == "notifications/cancelled" {
			x.cancelled(m.params)
		}
		return nil, nil
	}
	switch m.method {
	case "initialize":
		return x.initialize(m.params)
	case "ping", "logging/setLevel":
		return []byte(`{}`), nil
	case "tools/list":
		return x.lists.tools.page("tools", m.params)
	case "tools/call":
		return x.callTool(ctx, m)
	case "resources/list":
		return x.lists.resources.page("resources", m.params)
	case "resources/templates/list":
		return x.lists.templates.page("resourceTemplates", m.params)
	case "resources/read":
		return x.readResource(ctx, m)
	case "prompts/list":
		return x.lists.prompts.page("prompts", m.params)
	case "prompts/get":
		return x.getPrompt(ctx, m)
	}
	return nil, methodNotFound(m.method)
}

// initialize agrees on a revision and begins a session.
func (x *exchange) initialize(params []byte) ([]byte, error) {
	name, ok := httpd.StringValue(httpd.Field(params, "protocolVersion"))
	if !ok {
		return nil, beeos.Errorf(beeos.InvalidParam, "params.protocolVersion must be a string")
	}
	v := versionOf(name)
	if v == bare {
		v = latest
	}
	s := newSession(v, capabilities(httpd.Field(params, "capabilities")), x.g.opt.Now())
	x.out.w.Header()[headerSession] = []string{x.g.sealer.sessionID(x.agent.ID, x.caller.Principal(), s)}
	b := []byte(`{"protocolVersion":"` + v.String() + `",`)
	return append(append(b, x.lists.about...), '}'), nil
}
