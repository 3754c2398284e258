package beeos

import (
	"encoding/json"
	"time"
)

// MessageType names what a message is; errors.md and messages.md of the
// contract list them.
type MessageType string

const (
	// From callers.
	ChatMessage MessageType = "chat_message"
	ChatCancel  MessageType = "chat_cancel"
	Continue    MessageType = "user.continue"
	AuthGrant   MessageType = "user.auth_grant"

	// From agents, not stored.
	AgentReplyDelta MessageType = "agent_reply_delta"

	// From agents, stored; the turn goes on.
	AgentReasoning     MessageType = "agent_reasoning"
	AgentInputRequired MessageType = "agent.input_required"
	AgentAuthRequired  MessageType = "agent.auth_required"

	// From agents, stored; exactly one of these ends a turn.
	AgentReply      MessageType = "agent_reply"
	AgentReplyError MessageType = "agent_reply_error"
	AgentRefuse     MessageType = "agent.refuse"
	AgentBusy       MessageType = "agent_busy"
)

// Terminal reports whether the type ends a turn.
func (t MessageType) Terminal() bool {
	switch t {
	case AgentReply, AgentReplyError, AgentRefuse, AgentBusy:
		return true
	}
	return false
}

// States and stop reasons of a message.
const (
	StateStreaming = "streaming"
	StateCompleted = "completed"
	StateFailed    = "failed"
	StateRefused   = "refused"
	StateCancelled = "cancelled"

	StopEndTurn   = "end_turn"
	StopUser      = "user_stop"
	StopTimeout   = "timeout"
	StopError     = "error"
	StopRefused   = "refused"
	StopAgentLost = "agent_lost"
)

// FilePart is a part of a message that points to a file.
type FilePart struct {
	Type     string `json:"type"` // PartFile
	URL      string `json:"url"`
	MIMEType string `json:"mime_type"`
	Name     string `json:"name,omitempty"`
	Size     int64  `json:"size,omitempty"`
	FileID   string `json:"file_id,omitempty"` // of a file that the server keeps
}

// PartFile is the type of a FilePart.
const PartFile = "file"

// Message is one envelope of a channel. Parts and Payload are JSON as their
// publisher wrote it; they pass through unparsed.
type Message struct {
	ID         string          `json:"message_id"`
	Channel    string          `json:"channel_id"`
	Offset     int64           `json:"offset"`
	Type       MessageType     `json:"type"`
	State      string          `json:"state,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	InReplyTo  string          `json:"in_reply_to,omitempty"`
	Publisher  string          `json:"publisher_id"`
	Body       string          `json:"body"`
	Parts      json.RawMessage `json:"parts,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	UpdatedAt  time.Time       `json:"updated_at"`
}

// IsError reports whether a terminal message says that the agent failed.
func (m *Message) IsError() bool { return m.Type.Terminal() && m.Type != AgentReply }

// Kinds of channels.
const (
	KindInvoke       = "invoke"
	KindTask         = "task"
	KindConversation = "conversation"
	KindMCP          = "mcp"
	KindA2A          = "a2a"
)

// Channel is where messages between one owner and one agent stand in order.
type Channel struct {
	ID           string            `json:"channel_id"`
	AgentID      string            `json:"agent_id"`
	Owner        string            `json:"owner_id"` // a Caller.Principal
	Kind         string            `json:"kind"`
	SingleShot   bool              `json:"single_shot"`
	Closed       bool              `json:"-"`
	ClosedReason string            `json:"closed_reason,omitempty"`
	Title        string            `json:"title,omitempty"`
	Model        string            `json:"model,omitempty"` // which the owner chose for it; empty = the agent's
	Metadata     map[string]string `json:"metadata,omitempty"`
	Deadline     time.Time         `json:"deadline,omitzero"`
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`

	// Generation counts how often the agent was told to start afresh, and
	// Cleared is the offset of the last message that it does not get to see.
	Generation int64 `json:"-"`
	Cleared    int64 `json:"-"`

	// Version rises when the title, the model, the history or the state changes.
	Version int64 `json:"-"`
}

// NewChannelID returns a fresh channel id.
func NewChannelID() string { return "ch-" + NewID() }

// Call is the payload of a chat_message: what the caller's protocol asked
// for, beyond the plain text in Body.
type Call struct {
	Protocol    string            `json:"protocol,omitempty"`  // mcp, a2a, rest, web; replay for a call that is made again
	Revision    string            `json:"revision,omitempty"`  // of the protocol, where it has several: 2025-11-25
	Method      string            `json:"method,omitempty"`    // empty = talk to the agent; tools/call, resources/read, prompts/get, completion/complete
	Tool        string            `json:"tool,omitempty"`      // with tools/call
	Arguments   json.RawMessage   `json:"arguments,omitempty"` // with tools/call and prompts/get
	Params      json.RawMessage   `json:"params,omitempty"`    // the other methods
	Attachments json.RawMessage   `json:"attachments,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	DeadlineMS  int64             `json:"deadline_ms,omitempty"` // how long the caller gives the agent, if it said so
	Model       string            `json:"model,omitempty"`       // which the caller chose for this conversation
	Can         []string          `json:"can,omitempty"`         // what the caller can be asked mid-call: elicitation, sampling, roots, progress
	Trial       *Trial            `json:"trial,omitempty"`       // with which a built-in agent's owner tries it

	// MetadataOnly: the agent's owner does not get to see what is said. It is noted
	// with the call, so that it outlives the agent's setting.
	MetadataOnly bool `json:"metadata_only,omitempty"`

	// A call that is made again because the agent needed input first.
	Input map[string]json.RawMessage `json:"input,omitempty"` // answers by the agent's names for its questions
	State string                     `json:"state,omitempty"` // what the agent gave along with its questions
}

// Trial is what takes the place of a built-in agent's own settings for one call.
type Trial struct {
	Model  string  `json:"model,omitempty"`  // empty = the agent's
	Prompt *string `json:"prompt,omitempty"` // nil = the agent's

	// A fork: what was done for another request, until its model was asked for the
	// Step-th time, counts as done for this one.
	Fork string `json:"fork,omitempty"` // that request; empty = none
	Step int    `json:"step,omitempty"` // from 2; the model is asked again from here on
}

// EventKind says what an Event carries.
type EventKind string

const (
	EventDelta    EventKind = "delta"    // Text, Reasoning or Part
	EventProgress EventKind = "progress" // Progress, Total, Text; about an approval also Method and Data
	EventLog      EventKind = "log"      // Level, Logger, Data
	EventAsk      EventKind = "ask"      // AskID, Key, Total, Method, Data: the agent asks the caller something
	EventMessage  EventKind = "message"  // Message: a durable one; a terminal one is the last event

	EventBackground EventKind = "background" // the agent goes on, but the caller need not wait for it
)

// PauseAsk begins the id of an ask that is an agent's input_required or
// auth_required: the agent waits whether or not this caller can be asked.
const PauseAsk = "pause_"

// ApprovalAsk begins the id of an ask that lets a caller decide about a tool
// call. Others may decide it, too, so a caller that cannot be asked just waits.
const ApprovalAsk = "approval_"

// Methods of a progress event about a tool call that a person decides about. Its
// Data is an ApprovalStep.
const (
	ApprovalRequested = "approval.requested" // it waits; said again from time to time
	ApprovalDecided   = "approval.decided"
)

// AskedApproval is the approval that a message asks the caller for, by its own
// account: the payload is the agent's to fill.
func (m *Message) AskedApproval() string {
	if m.Type != AgentInputRequired {
		return ""
	}
	var payload struct {
		Approval struct {
			ID string `json:"id"`
		} `json:"approval"`
	}
	if json.Unmarshal(m.Payload, &payload) != nil {
		return ""
	}
	return payload.Approval.ID
}

// ApprovalStep is what everybody who watches a turn may know of an approval.
type ApprovalStep struct {
	ID        string    `json:"id"`
	Skill     string    `json:"skill,omitempty"`
	Tool      string    `json:"tool"`
	Status    string    `json:"status"` // pending, approved, rejected or expired
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Event is what travels from an agent to whoever watches its turn. Only
// EventMessage is durable; the others are live and may be lost.
type Event struct {
	Kind      EventKind       `json:"kind"`
	Channel   string          `json:"channel,omitempty"`
	Turn      string          `json:"turn,omitempty"` // message id of the chat_message
	Attempt   int             `json:"attempt,omitempty"`
	Seq       int64           `json:"seq,omitempty"` // rises within one attempt
	Text      string          `json:"text,omitempty"`
	SoFar     bool            `json:"so_far,omitempty"` // of a delta: Text is all of the turn's text so far, not one more piece
	Reasoning string          `json:"reasoning,omitempty"`
	Part      json.RawMessage `json:"part,omitempty"`
	Parts     json.RawMessage `json:"parts,omitempty"` // with SoFar: a list of all parts so far, as Reasoning then is all of that
	Progress  float64         `json:"progress,omitempty"`
	Total     float64         `json:"total,omitempty"`
	Level     string          `json:"level,omitempty"`
	Logger    string          `json:"logger,omitempty"`
	AskID     string          `json:"ask_id,omitempty"`
	Key       string          `json:"key,omitempty"` // the agent's name for its question; Total are asked together
	Method    string          `json:"method,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Message   *Message        `json:"message,omitempty"`
	Replayed  bool            `json:"-"` // Message answers an earlier call under the same idempotency key
}
