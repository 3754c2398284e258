package mcp

import (
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
	return &fault{err: beeos.Errorf(code, "%s", orElse(m.Body, "the agent could not answer")), number: number}
}

// urlElicitation is MCP's code for a call that needs a person to open a page
// first. Only the agent can know that.
const urlElicitation = -32042

// agentError is the error of the protocol that an agent ended its turn with,
// if it did. What only newer clients know is for the model to read otherwise.
func (x *exchange) agentError(m *beeos.Message) error {
	if !m.IsError() || len(m.Payload) == 0 {
		return nil
	}
	raw := httpd.Field(m.Payload, "error")
	number, err := strconv.Atoi(string(httpd.Field(raw, "code")))
	if err != nil || number == numberNoCapability && !x.version.stateless() {
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
