package mcp

import (
	"cmp"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// agentResult is the result object that an agent gave for a method, whole.
func agentResult(method string, m *beeos.Message) ([]byte, error) {
	if m.IsError() {
		return nil, agentFault(m)
	}
	if result := httpd.Field(m.Payload, "result"); kind(result) == '{' {
		if err := checkResult(method, result); err != nil {
			return nil, err
		}
		return result, nil
	}
	return nil, nil
}

// agentFault is for methods whose results cannot say that they failed.
func agentFault(m *beeos.Message) error {
	code, number := beeos.InternalError, codeNumbers[beeos.InternalError]
	switch {
	case m.Type == beeos.AgentBusy, m.Type == beeos.AgentRefuse:
		code, number = beeos.Conflict, codeNumbers[beeos.Conflict]
	case m.StopReason == beeos.StopAgentLost:
		code, number = beeos.AgentServiceUnavailable, codeNumbers[beeos.AgentServiceUnavailable]
	}
	return &fault{err: beeos.Errorf(code, "%s", cmp.Or(m.Body, "the agent could not answer")), number: number}
}

// urlElicitation is MCP's code for a call that needs a person to open a page
// first. Only the agent can know that.
const urlElicitation = -32042

// agentError is the error of the protocol that an agent ended its turn with,
// if it did. What only newer clients know is for the model to read otherwise.
func agentError(m *beeos.Message, v version) error {
	if !m.IsError() || len(m.Payload) == 0 {
		return nil
	}
	raw := httpd.Field(m.Payload, "error")
	number, err := strconv.Atoi(string(httpd.Field(raw, "code")))
	if err != nil || number == numberNoCapability && !v.stateless() {
		return nil
	}
	f := &fault{err: beeos.Errorf(beeos.InternalError, "%s", m.Body), number: number}
	if text, ok := httpd.StringValue(httpd.Field(raw, "message")); ok {
		f.err.Message = text
	}
	switch {
	case number == codeNumbers[beeos.InvalidParam], number == urlElicitation:
		f.err.Code = beeos.InvalidParam
	case number == numberNoCapability:
		f.err.Code, f.status = beeos.InvalidParam, 400
	case number <= -32000 && number >= -32099: // not an agent's to use
		f.number = codeNumbers[beeos.InternalError]
	}
	for name, value := range httpd.Fields(httpd.Field(raw, "data")) {
		if name != "code" {
			f.moreData = append(append(appendText(append(f.moreData, ','), name), ':'), value...)
		}
	}
	return f
}

// resourceContents reads an agent's answer to resources/read: a whole result,
// or resource parts, or plain text.
func resourceContents(m *beeos.Message, uri string) ([]byte, error) {
	if result, err := agentResult("resources/read", m); result != nil || err != nil {
		return result, err
	}
	var c, none content
	parts, _ := sortParts(m.Parts, &none)
	if none.broken != "" {
		return nil, malformed("resources/read")
	}
	for _, p := range parts {
		if r := httpd.Field(p, "resource"); isContents(r) {
			c.add(r)
		}
	}
	if len(c.blocks) == 0 {
		b := appendText([]byte(`{"uri":`), uri)
		c.add(append(appendText(append(b, `,"text":`...), m.Body), '}'))
	}
	return append(append([]byte(`{"contents":[`), c.blocks...), `]}`...), nil
}

// promptMessages reads an agent's answer to prompts/get: a whole result, or
// plain text as one message of the user's.
func promptMessages(m *beeos.Message) ([]byte, error) {
	if result, err := agentResult("prompts/get", m); result != nil || err != nil {
		return result, err
	}
	b := appendTextBlock([]byte(`{"messages":[{"role":"user","content":`), m.Body)
	return append(b, `}]}`...), nil
}

// neededInput is what an agent's reply asks for before it can answer.
type neededInput struct {
	requests []byte // an object, as the agent wrote it; nil = none
	state    string
}

// readNeededInput returns nil for a reply that is an answer.
func readNeededInput(m *beeos.Message) *neededInput {
	if len(m.Payload) == 0 {
		return nil
	}
	raw := httpd.Field(m.Payload, "input_required")
	if kind(raw) != '{' {
		return nil
	}
	n := &neededInput{requests: httpd.Field(raw, "requests")}
	n.state, _ = httpd.StringValue(httpd.Field(raw, "state"))
	return n
}
