package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/mcp/session"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// answerMessage handles one message: the server gets the call, the caller all
// that comes back.
func (b *bridge) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	switch m.Method {
	case "tools/call", "resources/read", "prompts/get", "completion/complete":
	default:
		return r.Refuse("this agent does not chat; call one of its tools")
	}
	if m.Method == "tools/call" { // goes ahead unless the agent's owner made a rule
		if err := r.Gate(ctx, agent.Approval{Tool: m.Tool, Arguments: m.Arguments, Auto: true}); err != nil {
			return err
		}
	}
	s, leave, err := b.sessionFor(ctx, m)
	if errors.Is(err, errTooManyCallers) {
		return r.Busy(err.Error())
	}
	if err != nil {
		return err
	}
	defer leave()
	raw, err := callServer(ctx, s, m, r)
	if fault, ok := errors.AsType[*jsonrpc.Error](err); ok {
		var data any
		if len(fault.Data) > 0 {
			data = fault.Data
		}
		return r.Fault(int(fault.Code), fault.Message, data)
	}
	if err != nil {
		return err
	}
	return forwardResult(raw, m, r)
}

// callServer makes the call. That of a tool is told as a step of the answer.
func callServer(ctx context.Context, s *session.Session, m agent.Message, r *agent.Reply) (raw json.RawMessage, err error) {
	place := m.Trace
	if m.Method == "tools/call" {
		step := r.Step(m.Tool, agent.StepTool)
		if name := s.About.Info.Name; name != "" {
			step.Set("server", upstream.Shorten(name))
		}
		defer func() { endToolStep(step, raw, err) }()
		ctx, place = step.Context(ctx), step.Trace()
	}
	return s.Call(ctx, m.Method, paramsFor(s, m, place), hooksFor(m, r))
}

// endToolStep tells what came of the call of a tool.
func endToolStep(step *agent.Step, raw json.RawMessage, err error) {
	if err != nil {
		step.End(err)
		return
	}
	step.Set("result_bytes", strconv.Itoa(len(raw)))
	var said struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &said) != nil || !said.IsError {
		step.End(nil)
		return
	}
	words := "the tool answered with an error"
	for _, c := range said.Content {
		if c.Text != "" {
			words = c.Text
			break
		}
	}
	step.End(errors.New(words))
}

// sessionFor returns the session that makes the call. A caller of the older
// revisions who can be asked has one of its own; the others share the base.
func (b *bridge) sessionFor(ctx context.Context, m agent.Message) (*session.Session, func(), error) {
	base, err := b.currentBase(ctx)
	if err != nil {
		return nil, nil, err
	}
	if m.Method == "resources/read" {
		base.watchResource(ctx, m.URI())
	}
	can := clientCapabilities(askableThings(m))
	if m.Method != "tools/call" || len(can) == 0 || base.Modern() && m.Revision >= session.ModernRevision {
		return base.Session, func() {}, nil
	}
	can = clientCapabilities(callerAbilities(m))
	s, leave, err := b.callers.acquire(ctx, m.Channel, can)
	if err != nil && base.Modern() && !errors.Is(err, errTooManyCallers) {
		b.log.Debug("the server speaks the newest revision only", "err", err)
		return base.Session, func() {}, nil
	}
	return s, leave, err
}

// askableThings lists what the caller can be asked.
func askableThings(m agent.Message) (can []string) {
	for _, what := range []string{"elicitation", "elicitation/url", "sampling", "roots"} {
		if m.Can(what) {
			can = append(can, what)
		}
	}
	return can
}

// callerAbilities is that, and what the caller can show: which is nothing to ask,
// and no reason for a session of its own.
func callerAbilities(m agent.Message) []string {
	can := askableThings(m)
	if m.Can("ui") {
		can = append(can, "ui")
	}
	return can
}

// clientCapabilities writes that as a client's capabilities.
func clientCapabilities(can []string) session.Object {
	o := session.Object{}
	for _, what := range can {
		switch what {
		case "elicitation":
			o[what] = json.RawMessage(`{"form":{}}`)
		case "elicitation/url":
			o["elicitation"] = json.RawMessage(`{"form":{},"url":{}}`)
		case "ui": // MCP Apps: the pages of tools, and their one kind
			o["extensions"] = json.RawMessage(`{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}`)
		default:
			o[what] = json.RawMessage(`{}`)
		}
	}
	return o
}

// paramsFor writes the call, which has its place in a trace, in the server's terms.
func paramsFor(s *session.Session, m agent.Message, place beeos.Trace) session.Object {
	params := session.Object{}
	if m.Method == "tools/call" {
		params["name"], params["arguments"] = upstream.EncodeJSON(m.Tool), m.Arguments
		if len(m.Arguments) == 0 {
			params["arguments"] = json.RawMessage(`{}`)
		}
	} else {
		_ = json.Unmarshal(m.Params, &params) // an object, by the gateway
	}
	meta := session.Object{}
	_ = json.Unmarshal(params["_meta"], &meta) // not there: then there is nothing to keep
	for name := range meta {
		if name == "progressToken" || strings.HasPrefix(name, session.MetaPrefix) {
			delete(meta, name) // between the caller and the gateway
		}
	}
	addTrace(meta, place)
	for _, name := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, name)
	}
	if s.Modern() {
		meta[session.MetaCapabilities] = upstream.EncodeJSON(clientCapabilities(callerAbilities(m)))
		if m.Input != nil {
			params["inputResponses"] = upstream.EncodeJSON(m.Input)
		}
		if m.State != "" {
			params["requestState"] = upstream.EncodeJSON(m.State)
		}
	}
	if len(meta) > 0 {
		params["_meta"] = upstream.EncodeJSON(meta)
	}
	return params
}

// addTrace tells the server where the call stands in a distributed trace: as part
// of this agent's work, whatever the caller has said.
func addTrace(meta session.Object, t beeos.Trace) {
	delete(meta, "traceparent")
	delete(meta, "tracestate")
	if t.IsZero() {
		return
	}
	meta["traceparent"] = upstream.EncodeJSON(t.Parent)
	if t.State != "" {
		meta["tracestate"] = upstream.EncodeJSON(t.State)
	}
}

// hooksFor brings what happens on the way to the caller, and its questions.
func hooksFor(m agent.Message, r *agent.Reply) session.Hooks {
	var questions atomic.Int64
	h := session.Hooks{
		Log: func(params json.RawMessage) {
			var p struct {
				Level, Logger string
				Data          json.RawMessage
			}
			if json.Unmarshal(params, &p) == nil {
				r.LogAs(p.Level, p.Logger, p.Data)
			}
		},
		Later: func() { _ = r.Background() }, // who gave up is told by the context
		Ask: func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			var p any
			if len(params) > 0 {
				p = params
			}
			return r.Ask(ctx, fmt.Sprintf("question-%d", questions.Add(1)), method, p)
		},
	}
	if m.Can("progress") {
		h.Progress = func(params json.RawMessage) {
			var p struct {
				Progress, Total float64
				Message         string
			}
			if json.Unmarshal(params, &p) == nil {
				_ = r.Progress(p.Progress, p.Total, p.Message) // who gave up is told by the context
			}
		}
	}
	return h
}

// result is what a server answers a call with.
type result struct {
	Type     string                     `json:"resultType"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	State    string                     `json:"requestState"`
	Meta     session.Object             `json:"_meta"`
}

// forwardResult hands the server's result to the caller.
func forwardResult(raw json.RawMessage, m agent.Message, r *agent.Reply) error {
	var res result
	var whole session.Object
	if json.Unmarshal(raw, &whole) != nil || json.Unmarshal(raw, &res) != nil {
		return errors.New("the server behind this agent answered with something that is no result")
	}
	if res.Type == "input_required" {
		return forwardQuestions(res, r)
	}
	for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
		delete(whole, name) // the gateway's to say
	}
	delete(res.Meta, session.MetaServer)
	delete(whole, "_meta")
	if len(res.Meta) > 0 {
		whole["_meta"] = upstream.EncodeJSON(res.Meta)
	}
	if m.Method != "tools/call" {
		if err := r.Result(whole); err != nil {
			return err
		}
		return r.Send("")
	}
	return r.SendToolResult(upstream.EncodeJSON(whole))
}

// forwardQuestions sends the caller away with the server's questions.
func forwardQuestions(res result, r *agent.Reply) error {
	questions := make(map[string]agent.Question, len(res.Requests))
	for key, raw := range res.Requests {
		var q struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(raw, &q); err != nil {
			return fmt.Errorf("the server behind this agent asks for something unreadable: %w", err)
		}
		questions[key] = agent.Question{Method: q.Method}
		if len(q.Params) > 0 {
			questions[key] = agent.Question{Method: q.Method, Params: q.Params}
		}
	}
	return r.NeedInput(questions, res.State)
}
