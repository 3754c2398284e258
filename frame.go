package beeos

import "encoding/json"

// FrameType names a frame between an agent and the agent gateway.
type FrameType string

const (
	// Gateway to agent.
	FrameHello     FrameType = "hello"           // ConnectionID, Agents, HeartbeatMS
	FrameMessage   FrameType = "chat_message"    // AgentID, ChannelID, MessageID, Offset, Attempt, PublisherID, Body, Parts, Payload, DeadlineMS, TraceParent, TraceState, Spans
	FrameCancel    FrameType = "chat_cancel"     // MessageID of the turn, Reason
	FrameContinue  FrameType = "user.continue"   // MessageID of the turn, Body, Payload
	FrameAuthGrant FrameType = "user.auth_grant" // MessageID of the turn, Payload
	FrameAnswer    FrameType = "answer"          // RequestID, Result or Error
	FrameDecision  FrameType = "decision"        // MessageID of the turn, RequestID, Result: an Approved; or Error
	FrameAck       FrameType = "ack"             // MessageID of the turn, Offset; or Error: this terminal frame was refused
	FrameRestart   FrameType = "restart"         // the owner asks for a restart: finish what is begun, then start anew
	FrameError     FrameType = "error"           // from the gateway: a frame could not be used; from the agent: the turn failed

	// Agent to gateway.
	FrameDelta           FrameType = "delta"            // MessageID, Text | Reasoning | Part; Reason "replay": said before, on a connection that broke
	FrameReply           FrameType = "reply"            // MessageID, Body, Parts, Payload, IsError, StopReason, Steps, Usage
	FrameRefuse          FrameType = "refuse"           // MessageID, Body, Steps, Usage
	FrameBusy            FrameType = "busy"             // MessageID, Body
	FrameInputRequired   FrameType = "input_required"   // MessageID, Body, Payload
	FrameAuthRequired    FrameType = "auth_required"    // MessageID, Body, Payload
	FrameHeartbeat       FrameType = "heartbeat"        // nothing
	FrameRequest         FrameType = "request"          // MessageID, RequestID, Key, Total, Method, Params, TraceParent
	FrameApprove         FrameType = "approve"          // MessageID, RequestID, Skill, Tool, Arguments, Auto
	FrameBackground      FrameType = "background"       // MessageID: it takes longer than the caller should wait
	FrameLog             FrameType = "log"              // MessageID, Level, Logger, Data; Reason LogForOwner: callers do not see it
	FrameProgress        FrameType = "progress"         // MessageID, Progress, Total, Text
	FrameResourceUpdated FrameType = "resource_updated" // AgentID, URI
	FrameDrain           FrameType = "drain"            // give me no more work, I am stopping

	// Both: MessageID of a turn. The agent still works on it after a break of
	// the connection; the gateway has put it on the new one, and what was said
	// in between may be said again.
	FrameWorking FrameType = "working"
)

// LogForOwner as the Reason of a FrameLog keeps it from callers.
const LogForOwner = "owner"

// MethodCallAgent as the Method of a FrameRequest is for the gateway: another
// agent is to be asked. All others are for the caller.
const MethodCallAgent = "agents/call"

// Frame is one JSON object on an agent's connection. A WebSocket message, a
// long-poll answer and a POST body hold one or more frames, one per line.
// MessageID always names the turn: the chat_message that is being answered.
type Frame struct {
	Type         FrameType         `json:"type"`
	AgentID      string            `json:"agent_id,omitempty"`
	ChannelID    string            `json:"channel_id,omitempty"`
	MessageID    string            `json:"message_id,omitempty"`
	Offset       int64             `json:"offset,omitempty"`
	Attempt      int               `json:"attempt,omitempty"`
	PublisherID  string            `json:"publisher_id,omitempty"`
	Body         string            `json:"body,omitempty"`
	Parts        json.RawMessage   `json:"parts,omitempty"`
	Payload      json.RawMessage   `json:"payload,omitempty"`
	IsError      bool              `json:"is_error,omitempty"`
	StopReason   string            `json:"stop_reason,omitempty"`
	Steps        json.RawMessage   `json:"steps,omitempty"`       // a list of Step: what was done for the answer
	Usage        json.RawMessage   `json:"usage,omitempty"`       // a list of Usage: what the answer took, where its steps do not say all of it
	DeadlineMS   int64             `json:"deadline_ms,omitempty"` // unix milliseconds
	TraceParent  string            `json:"traceparent,omitempty"` // the place in a distributed trace of what the agent does, as in a Trace
	TraceState   string            `json:"tracestate,omitempty"`
	Spans        bool              `json:"spans,omitempty"` // steps that have a span_id become spans of that trace
	Text         string            `json:"text,omitempty"`
	Reasoning    string            `json:"reasoning,omitempty"`
	Part         json.RawMessage   `json:"part,omitempty"`
	RequestID    string            `json:"request_id,omitempty"`
	Key          string            `json:"key,omitempty"` // what the agent calls its question
	Method       string            `json:"method,omitempty"`
	Params       json.RawMessage   `json:"params,omitempty"`
	Result       json.RawMessage   `json:"result,omitempty"`
	Skill        string            `json:"skill,omitempty"`
	Tool         string            `json:"tool,omitempty"`
	Arguments    json.RawMessage   `json:"arguments,omitempty"`
	Auto         bool              `json:"auto,omitempty"` // go ahead unless the owner wants to be asked
	Error        *FrameFault       `json:"error,omitempty"`
	Level        string            `json:"level,omitempty"`
	Logger       string            `json:"logger,omitempty"`
	Data         json.RawMessage   `json:"data,omitempty"`
	Progress     float64           `json:"progress,omitempty"`
	Total        float64           `json:"total,omitempty"`
	URI          string            `json:"uri,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	ConnectionID string            `json:"connection_id,omitempty"`
	Agents       map[string]string `json:"agents,omitempty"` // name -> id
	HeartbeatMS  int64             `json:"heartbeat_ms,omitempty"`
}

// FrameFault is an error inside a frame.
type FrameFault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Approved is what was decided about a tool call that an agent asked for.
type Approved struct {
	Approved bool   `json:"approved"`
	ID       string `json:"id,omitempty"` // of the approval; empty when nobody was asked
	By       string `json:"by,omitempty"` // user:<id>, link or policy
	Reason   string `json:"reason,omitempty"`
	Expired  bool   `json:"expired,omitempty"` // nobody decided in time
}
