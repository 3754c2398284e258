package trace

import (
	"strings"

	"github.com/beeos/beeos"
)

// Every name that a span or an attribute has stands in this file. Those for
// generative AI, MCP and A2A are of open-telemetry/semantic-conventions-genai,
// whose status is "development": they still change, and then change here alone.

// Names of attributes that the conventions prescribe.
const (
	ServiceName     = "service.name"
	ServiceVersion  = "service.version"
	ServiceInstance = "service.instance.id"

	ErrorType = "error.type"
	HTTPRoute = "http.route"
	HTTPVerb  = "http.request.method"

	OperationName   = "gen_ai.operation.name"
	ProviderName    = "gen_ai.provider.name"
	AgentName       = "gen_ai.agent.name"
	AgentID         = "gen_ai.agent.id"
	ConversationID  = "gen_ai.conversation.id"
	ToolName        = "gen_ai.tool.name"
	PromptName      = "gen_ai.prompt.name"
	RequestModel    = "gen_ai.request.model"
	FinishReasons   = "gen_ai.response.finish_reasons"
	UsageInput      = "gen_ai.usage.input_tokens"
	UsageOutput     = "gen_ai.usage.output_tokens"
	MCPMethod       = "mcp.method.name"
	MCPSession      = "mcp.session.id"
	MCPVersion      = "mcp.protocol.version"
	JSONRPCRequest  = "jsonrpc.request.id"
	NetworkProtocol = "network.protocol.name"
	A2AMethod       = "a2a.method.name"
	A2ATask         = "a2a.task.id"
	A2AMessage      = "a2a.message.id"
)

// Names of attributes of our own.
const (
	RequestID      = "beeos.request.id"
	Surface        = "beeos.surface"
	Outcome        = "beeos.outcome"
	Replayed       = "beeos.replayed" // the answer is that of an earlier request under the same key
	AttemptNumber  = "beeos.attempt.number"
	AttemptEnd     = "beeos.attempt.end" // why it was over without a reply
	AttemptResumed = "beeos.attempt.resumed"
	AttemptNode    = "beeos.node"
	AttemptAgent   = "beeos.instance"
	ApprovalID     = "beeos.approval.id"
	ApprovalState  = "beeos.approval.state"
	ApprovalBy     = "beeos.approval.decided_by"
	SkillServer    = "beeos.skill"
	StepKind       = "beeos.step.kind"
	ResultBytes    = "beeos.result.bytes"
)

// Values of OperationName, ProviderName and ErrorType.
const (
	opInvokeAgent = "invoke_agent"
	opExecuteTool = "execute_tool"
	opChat        = "chat"
	opRetrieval   = "retrieval"

	providerUnknown = "_OTHER"
	providerBeeOS   = "beeos"

	errorOther = "_OTHER"
	errorTool  = "tool_error" // a tool that answered with a failure
)

// AttemptName is the name of the span of one instance's work on a request.
const AttemptName = "attempt"

// Methods whose spans are named after what they ask for, too.
const (
	methodTool   = "tools/call"
	methodPrompt = "prompts/get"
)

// Entry is a request of a caller's as its protocol has it.
type Entry struct {
	Surface  string
	Method   string // mcp: tools/call; a2a: SendMessage; others: the verb and the route, POST /api/v1/agents/{id}/invoke
	Target   string // mcp: the tool or the prompt
	RPCID    []byte // mcp: which request of the client's, as JSON
	Revision string // of mcp
	Session  string // of mcp
	Message  string // of a2a: the client's id of its message
}

// Name is the name of the entry's span.
func (e *Entry) Name() string {
	switch {
	case e.Method == "":
		return e.Surface + " call"
	case e.Target != "":
		return e.Method + " " + e.Target
	}
	return e.Method
}

// maxAttrs is room for those of a span of ours, so that a list of them does not move.
const maxAttrs = 16

// Attrs are the attributes of the entry's span.
func (e *Entry) Attrs() []Attr {
	attrs := append(make([]Attr, 0, maxAttrs), Text(Surface, e.Surface))
	switch e.Surface {
	case "mcp":
		attrs = append(attrs, Text(MCPMethod, e.Method), Text(JSONRPCRequest, strings.Trim(string(e.RPCID), `"`)), Text(MCPVersion, e.Revision), Text(MCPSession, e.Session),
			Text(NetworkProtocol, "http"))
		switch e.Method {
		case methodTool:
			attrs = append(attrs, Text(OperationName, opExecuteTool), Text(ToolName, e.Target))
		case methodPrompt:
			attrs = append(attrs, Text(PromptName, e.Target))
		}
	case "a2a":
		attrs = append(attrs, Text(A2AMethod, e.Method), Text(A2AMessage, e.Message))
	default:
		if verb, route, ok := strings.Cut(e.Method, " "); ok {
			attrs = append(attrs, Text(HTTPVerb, verb), Text(HTTPRoute, route))
		}
	}
	return attrs
}

// FailedReply is the error.type of an entry whose agent answered with a failure.
func (e *Entry) FailedReply(kind beeos.MessageType) string {
	if e.Surface == "mcp" && kind == beeos.AgentReplyError {
		return errorTool
	}
	return string(kind)
}

// TaskAttr names the request as the entry's protocol knows it.
func (e *Entry) TaskAttr(request string) Attr {
	if e.Surface == "a2a" {
		return Text(A2ATask, request)
	}
	return Text(RequestID, request)
}

// AgentSpan is the name and the attributes of the span over a whole request.
func AgentSpan(id, name string) (string, []Attr) {
	return strings.TrimSpace(opInvokeAgent + " " + name), append(make([]Attr, 0, maxAttrs),
		Text(OperationName, opInvokeAgent), Text(ProviderName, providerBeeOS), Text(AgentName, name), Text(AgentID, id))
}

// ApprovalName is the name of the span of the wait for a person.
func ApprovalName(tool string) string { return "approval " + tool }

// Of what an agent may say about a step, only these go into a span: other
// attributes are its own, and may be what was asked or answered.
const (
	stepServer   = "server"
	stepFinish   = "finish"
	stepBytes    = "result_bytes"
	stepProvider = "provider"
)

// DescribeStep is the span of a step, without its place and its times.
func DescribeStep(s *beeos.Step) (r Record) {
	r.Kind = Internal
	r.Attrs = []Attr{Text(StepKind, string(s.Kind)), Text(ResultBytes, s.Attributes[stepBytes])}
	switch s.Kind {
	case beeos.StepTool:
		r.Name = opExecuteTool + " " + s.Name
		r.Attrs = append(r.Attrs, Text(OperationName, opExecuteTool), Text(ToolName, s.Name))
		if server := s.Attributes[stepServer]; server != "" { // one span is for both conventions, as they want it
			r.Name, r.Kind = methodTool+" "+s.Name, Client
			r.Attrs = append(r.Attrs, Text(MCPMethod, methodTool), Text(SkillServer, server))
		}
	case beeos.StepModel:
		r.Name, r.Kind = strings.TrimSpace(opChat+" "+s.Model), Client
		provider := s.Attributes[stepProvider]
		if provider == "" {
			provider = providerUnknown
		}
		r.Attrs = append(r.Attrs, Text(OperationName, opChat), Text(ProviderName, provider), Text(RequestModel, s.Model))
		if finish := s.Attributes[stepFinish]; finish != "" {
			r.Attrs = append(r.Attrs, List(FinishReasons, finish))
		}
		if s.InputTokens+s.OutputTokens > 0 {
			r.Attrs = append(r.Attrs, Number(UsageInput, s.InputTokens), Number(UsageOutput, s.OutputTokens))
		}
	case beeos.StepRetrieval:
		r.Name = opRetrieval + " " + s.Name
		r.Attrs = append(r.Attrs, Text(OperationName, opRetrieval))
	default:
		r.Name = s.Name
	}
	if s.Error != "" { // what it says may be what a tool answered
		r.Error = errorOther
		if s.Kind == beeos.StepTool {
			r.Error = errorTool
		}
	}
	return r
}
