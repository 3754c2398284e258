// Package replies turns what agents reply into the results of MCP's methods:
// content blocks, resource contents, prompt messages, errors. Clients refuse a
// result as a whole for one member of the wrong kind, so shapes are checked, and
// for content that is newer than their revision, so that is shown in older words.
package replies

import (
	"cmp"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// AgentResult is the result object that an agent gave for a method, whole.
func AgentResult(method string, m *beeos.Message) ([]byte, error) {
	if m.IsError() {
		return nil, agentFault(m)
	}
	if result := strictjson.Field(m.Payload, "result"); wire.Kind(result) == '{' {
		if err := checkResult(method, result); err != nil {
			return nil, err
		}
		return result, nil
	}
	return nil, nil
}

// agentFault is for methods whose results cannot say that they failed.
func agentFault(m *beeos.Message) error {
	code := beeos.InternalError
	switch {
	case m.Type == beeos.AgentBusy, m.Type == beeos.AgentRefuse:
		code = beeos.Conflict
	case m.StopReason == beeos.StopAgentLost:
		code = beeos.AgentServiceUnavailable
	}
	return beeos.Errorf(code, "%s", cmp.Or(m.Body, "the agent could not answer"))
}

// urlElicitation is MCP's code for a call that needs a person to open a page
// first. Only the agent can know that.
const urlElicitation = -32042

// AgentError is the error of the protocol that an agent ended its turn with,
// if it did. What only newer clients know is for the model to read otherwise.
func AgentError(m *beeos.Message, v wire.Version) error {
	if !m.IsError() || len(m.Payload) == 0 {
		return nil
	}
	raw := strictjson.Field(m.Payload, "error")
	number, err := strconv.Atoi(string(strictjson.Field(raw, "code")))
	if err != nil || number == wire.NumberNoCapability && !v.Stateless() {
		return nil
	}
	f := &wire.Fault{Err: beeos.Errorf(beeos.InternalError, "%s", m.Body), Number: number}
	if text, ok := strictjson.StringField(raw, "message"); ok {
		f.Err.Message = text
	}
	switch {
	case number == wire.NumberOf(beeos.InvalidParam), number == urlElicitation:
		f.Err.Code = beeos.InvalidParam
	case number == wire.NumberNoCapability:
		f.Err.Code, f.Status = beeos.InvalidParam, 400
	case number <= -32000 && number >= -32099: // not an agent's to use
		f.Number = wire.NumberOf(beeos.InternalError)
	}
	for name, value := range strictjson.Fields(strictjson.Field(raw, "data")) {
		if name != "code" {
			f.MoreData = append(append(wire.AppendText(append(f.MoreData, ','), name), ':'), value...)
		}
	}
	return f
}

// ResourceContents reads an agent's answer to resources/read: a whole result,
// or resource parts, or plain text.
func ResourceContents(m *beeos.Message, uri string) ([]byte, error) {
	if result, err := AgentResult("resources/read", m); result != nil || err != nil {
		return result, err
	}
	var c, none content
	parts, _ := sortParts(m.Parts, &none)
	if none.broken != "" {
		return nil, malformed("resources/read")
	}
	for _, p := range parts {
		if r := strictjson.Field(p, "resource"); isContents(r) {
			c.add(r)
		}
	}
	if len(c.blocks) == 0 {
		b := wire.AppendText([]byte(`{"uri":`), uri)
		c.add(append(wire.AppendText(append(b, `,"text":`...), m.Body), '}'))
	}
	return append(append([]byte(`{"contents":[`), c.blocks...), `]}`...), nil
}

// PromptMessages reads an agent's answer to prompts/get: a whole result, or
// plain text as one message of the user's.
func PromptMessages(m *beeos.Message) ([]byte, error) {
	if result, err := AgentResult("prompts/get", m); result != nil || err != nil {
		return result, err
	}
	b := wire.AppendTextBlock([]byte(`{"messages":[{"role":"user","content":`), m.Body)
	return append(b, `}]}`...), nil
}

// NeededInput is what an agent's reply asks for before it can answer.
type NeededInput struct {
	Requests []byte // an object, as the agent wrote it; nil = none
	State    string
}

// ReadNeededInput returns nil for a reply that is an answer.
func ReadNeededInput(m *beeos.Message) *NeededInput {
	if len(m.Payload) == 0 {
		return nil
	}
	raw := strictjson.Field(m.Payload, "input_required")
	if wire.Kind(raw) != '{' {
		return nil
	}
	n := &NeededInput{Requests: strictjson.Field(raw, "requests")}
	n.State, _ = strictjson.StringField(raw, "state")
	return n
}
