package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"

	batchMax = 50 // messages
)

// exchange is one POST: who sent it to which agent, in which revision and
// session, and where its answers go.
type exchange struct {
	g             *Gateway
	r             *http.Request
	caller        beeos.Caller
	endpointAgent string       // the agent whose endpoint it is; empty = that of all
	agent         *beeos.Agent // who is called
	lists         *lists
	version       version
	meta          requestMeta
	can           capability // what the client can be asked
	session       *session   // nil without one
	oldTransport  bool       // over the transport of 2024-11-05
	logs          *int       // the lowest level to tell; nil = not known yet
	out           *responder
}

func (g *Gateway) post(w http.ResponseWriter, r *http.Request, agentID string) {
	x, body := g.exchange(w, r, agentID)
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

// exchange lets a request in and reads its body, or refuses it.
func (g *Gateway) exchange(w http.ResponseWriter, r *http.Request, agentID string) (*exchange, []byte) {
	caller, e, err := g.access(r, agentID)
	var body []byte
	if err == nil {
		body, err = httpd.ReadJSON(w, r, maxBody)
	}
	if err != nil {
		g.refuse(w, r, agentID, err)
		return nil, nil
	}
	x := &exchange{g: g, r: r, caller: caller, endpointAgent: agentID, agent: e.agent, lists: e.lists, out: g.responder(w, r)}
	if !x.out.acceptsJSON && !x.out.acceptsStream {
		x.out.sendError(r, nil, unversioned, &fault{
			err:    beeos.Errorf(beeos.InvalidBody, "answers are application/json or text/event-stream: accept one of them"),
			number: codeNumbers[beeos.InvalidBody],
			status: http.StatusNotAcceptable,
		})
		return nil, nil
	}
	return x, body
}

// message reads the one message of a body, or refuses it.
func (x *exchange) message(body []byte) *message {
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
func (x *exchange) finish(m *message, result []byte, err error) {
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
		head, body := x.result(m, result)
		x.out.sendAnswer(http.StatusOK, head, body, []byte{'}'})
	}
}

// settleVersion finds the revision and the session that m belongs to. initialize
// begins both, whatever headers a client still has.
func (x *exchange) settleVersion(m *message) error {
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
	s, err := x.g.session(x.endpointAgent, x.caller.Principal(), id)
	if err != nil {
		return err
	}
	// What was negotiated counts. Some clients name their own newest revision
	// in the header of every request.
	x.session, x.version, x.can = s, s.version, s.can
	return nil
}

// result frames a request's result: head and body, to be followed by a brace.
// From 2026-07-28 on results say what they are, whose they are and how long
// they may be kept; ours do so before anything else. An agent that gave a whole
// result is not heard on that.
func (x *exchange) result(m *message, result []byte) (head, body []byte) {
	head = append(appendResponseHead(make([]byte, 0, 64+len(m.id)), m.id), `,"result":`...)
	if !x.version.stateless() {
		return head, result
	}
	head = append(head, '{')
	said := []string{"_meta"}
	if !bytes.HasPrefix(result, []byte(`{"resultType":`)) {
		head = append(head, `"resultType":"complete",`...)
		said = append(said, "resultType")
	}
	if ttl := resultTTL(m.method); ttl >= 0 {
		said = append(said, "cacheScope", "ttlMs")
		head = strconv.AppendInt(append(head, `"cacheScope":"private","ttlMs":`...), int64(ttl), 10)
		head = append(head, ',')
	}
	head = append(head, `"_meta":{"`+metaServerInfo+`":`...)
	head = append(head, x.lists.serverInfo...)
	for name, value := range httpd.Fields(httpd.Field(result, "_meta")) {
		if name != metaServerInfo {
			head = append(appendText(append(head, ','), name), ':')
			head = append(head, value...)
		}
	}
	head = append(head, '}')
	body = withoutMembers(result, said)
	if len(body) > 2 {
		head = append(head, ',')
	}
	return head, body[1:]
}

// batch answers an array of messages with an array, one after the other and
// without events: it exists in one old revision only.
func (x *exchange) batch(body []byte) {
	var list []json.RawMessage
	err := x.settleVersion(&message{})
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
		x.out.sendError(x.r, nil, x.version, err)
		return
	}
	x.out.acceptsStream = false
	var answers []byte
	for _, one := range list {
		if answer := x.answerOne(one); answer != nil {
			answers = append(append(answers, ','), answer...)
		}
	}
	if answers == nil {
		x.out.sendAccepted()
		return
	}
	answers[0] = '['
	x.out.sendAnswer(http.StatusOK, nil, answers, []byte{']'})
}

// answerOne answers a message of a batch; nil for one that has no answer.
func (x *exchange) answerOne(body []byte) []byte {
	m, err := parseMessage(bytes.TrimSpace(body))
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
		if f.isInternal() {
			httpd.Report(x.r, err)
		}
		return f.appendResponse(nil, m.id, x.version)
	case result == nil:
		return nil
	}
	return append(append(append(appendResponseHead(nil, m.id), `,"result":`...), result...), '}')
}

// handle runs one message. A request has a result or an error; what has
// neither was a notification or a response.
func (x *exchange) handle(ctx context.Context, m *message) ([]byte, error) {
	if m.isResponse() {
		return nil, x.receiveAnswer(ctx, m)
	}
	if m.isNotification() {
		if m.method == "notifications/cancelled" {
			x.handleCancelled(m.params)
		}
		return nil, nil
	}
	switch m.method {
	case "initialize":
		return x.initialize(m.params)
	case "ping":
		return []byte(`{}`), nil
	case "logging/setLevel":
		return x.setLevel(ctx, m.params)
	case "resources/subscribe", "resources/unsubscribe":
		return x.subscribe(ctx, m)
	case "tools/list":
		return x.listTools(m.params)
	case "tools/call":
		return x.callTool(ctx, m)
	case "resources/list":
		return x.lists.resources.page("resources", m.params)
	case "resources/templates/list":
		return x.lists.templates.page("resourceTemplates", m.params)
	case "resources/read":
		return x.atMember(ctx, m, (*exchange).readResource)
	case "prompts/list":
		return x.lists.prompts.page("prompts", m.params)
	case "prompts/get":
		return x.atMember(ctx, m, (*exchange).getPrompt)
	case "completion/complete":
		return x.atMember(ctx, m, (*exchange).complete)
	}
	if x.version.stateless() {
		return x.handleModern(ctx, m)
	}
	return nil, methodNotFound(m.method)
}

// handleModern runs what only the stateless era has.
func (x *exchange) handleModern(ctx context.Context, m *message) ([]byte, error) {
	switch m.method {
	case "server/discover":
		return x.discover()
	case "subscriptions/listen":
		return x.listen(ctx, m)
	case "skills/list":
		return x.listSkills(m)
	case "skills/get":
		return x.getSkill(m)
	case "resources/directory/read":
		return x.atMember(ctx, m, (*exchange).readDirectory)
	case "tasks/get":
		return x.getTask(ctx, m)
	case "tasks/update":
		return x.updateTask(ctx, m)
	case "tasks/cancel":
		return x.cancelTask(ctx, m)
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
	if v == unversioned {
		v = newestHandshake
	}
	s := newSession(min(v, newestHandshake), capabilities(httpd.Field(params, "capabilities")), x.g.opt.Now())
	if x.oldTransport {
		x.session.version, x.session.can = s.version, s.can
		x.version, x.can = s.version, s.can
	} else {
		x.out.w.Header()[headerSession] = []string{x.g.sealer.sessionID(x.endpointAgent, x.caller.Principal(), s)}
	}
	b := []byte(`{"protocolVersion":"` + s.version.String() + `",`)
	return append(append(b, x.lists.initializeMembers...), '}'), nil
}
