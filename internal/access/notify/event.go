package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/outbox"
)

// What channels are told.
const (
	ApprovalRequested = "approval.requested"
	ApprovalReminder  = "approval.reminder" // half of the time is over
	ApprovalDecided   = "approval.decided"  // by a person
	ApprovalExpired   = "approval.expired"  // nobody decided in time, or need decide any more
	ChannelTest       = "channel.test"
)

const (
	maxArguments = 4 << 10 // bytes that are sent as they are
	maxName      = 200     // bytes of a name in a message
	maxText      = 2000    // bytes that people are shown in a message; the page has all of them
)

// Event is something that happened to an approval, as webhooks are sent it. What is
// kept of it has no URL.
type Event struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Approval  *Approval `json:"approval,omitempty"`
}

// Approval is an approval as messages show it: without what is secret.
type Approval struct {
	ID            string          `json:"id"`
	Status        approvals.State `json:"status"`
	AgentID       string          `json:"agent_id"`
	Agent         string          `json:"agent_name"`
	Caller        string          `json:"caller"`
	CallerName    string          `json:"caller_name"`
	Skill         string          `json:"skill,omitempty"`
	Tool          string          `json:"tool"`
	Arguments     json.RawMessage `json:"arguments,omitempty"` // absent when they are long
	ArgumentsText string          `json:"arguments_text"`      // as people read them, shortened
	Shortened     bool            `json:"shortened,omitempty"` // the tool or its arguments are longer than a message
	RequestedAt   time.Time       `json:"requested_at"`
	ExpiresAt     time.Time       `json:"expires_at"`
	DecidedAt     time.Time       `json:"decided_at,omitzero"`
	DecidedBy     string          `json:"decided_by,omitempty"`
	DeciderName   string          `json:"decided_by_name,omitempty"`
	Via           string          `json:"via,omitempty"`
	Reason        string          `json:"reason,omitempty"`
	Needed        int             `json:"votes_needed,omitempty"` // when one is not enough
	URL           string          `json:"url,omitempty"`          // where it can be decided; of a message that is sent
}

// ToolName is the tool as people read it.
func (a *Approval) ToolName() string {
	return approval.ToolName(&approvals.Approval{Skill: a.Skill, Tool: a.Tool})
}

// newEvent describes an approval as it stands.
func (n *Notifier) newEvent(ctx context.Context, a approvals.Approval) Event {
	e := Event{Type: ApprovalRequested, Timestamp: a.CreatedAt.UTC()}
	switch a.State {
	case approvals.Approved, approvals.Rejected:
		e.Type, e.Timestamp = ApprovalDecided, a.DecidedAt.UTC()
	case approvals.Expired, approvals.Withdrawn:
		e.Type, e.Timestamp = ApprovalExpired, a.DecidedAt.UTC()
	}
	shown := n.opt.Approvals.Conceal(ctx, a)[0]
	text := approval.FormatArguments(shown.Arguments)
	e.Approval = &Approval{
		ID: a.ID, Status: a.State, AgentID: a.AgentID, Agent: n.nameAgent(ctx, a.AgentID), Caller: a.Caller, CallerName: n.nameCaller(ctx, a.Caller),
		Skill: a.Skill, Tool: a.Tool, ArgumentsText: beeos.Shorten(text, maxText), Shortened: len(text) > maxText || len(approval.ToolName(&a)) > maxName,
		RequestedAt: a.CreatedAt, ExpiresAt: a.ExpiresAt, DecidedAt: a.DecidedAt, DecidedBy: a.DecidedBy, Via: a.Via, Reason: a.Reason,
	}
	if len(shown.Arguments) <= maxArguments {
		e.Approval.Arguments = shown.Arguments
	}
	if a.Need > 1 {
		e.Approval.Needed = a.Need
	}
	if strings.HasPrefix(a.DecidedBy, "user:") {
		e.Approval.DeciderName = n.nameCaller(ctx, a.DecidedBy)
	}
	return e
}

// nameAgent is what people call an agent.
func (n *Notifier) nameAgent(ctx context.Context, id string) string {
	a, err := n.opt.Agents.Get(ctx, id)
	if err != nil {
		return "an agent"
	}
	return cmp.Or(a.Title, a.Definition.DisplayName, a.Name)
}

// nameCaller is what people call a principal; whoever cannot be named is somebody.
func (n *Notifier) nameCaller(ctx context.Context, principal string) string {
	switch kind, id, _ := strings.Cut(principal, ":"); kind {
	case "user":
		if u, err := n.opt.People.GetUser(ctx, id); err == nil {
			return cmp.Or(u.Name, u.Email)
		}
	case "key":
		if k, err := n.opt.Keys.Get(ctx, id); err == nil && k.Name != "" {
			return "key " + k.Name
		}
		return "an agent key"
	}
	return "somebody"
}

// newDelivery is an event to be sent.
func newDelivery(e Event) (outbox.Delivery, error) {
	body, err := json.Marshal(e)
	return outbox.Delivery{ID: newID("nd_"), Payload: body}, err
}
