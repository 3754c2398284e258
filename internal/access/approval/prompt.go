package approval

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Prompter reaches the caller of a turn. Whoever calls hears that somebody is
// being asked; the owner of the agent may decide on the spot.
type Prompter interface {
	ShowProgress(text, method string, step beeos.ApprovalStep) // to whoever watches the turn
	OpenPrompt(o Offer, form json.RawMessage) error            // form is an MCP elicitation
	ClosePrompt(o Offer)
}

// Offer is an approval that the caller of a turn may decide, because the agent
// is the caller's own, or a rule names the caller.
type Offer struct {
	ApprovalID string
	userID     string
}

// KeyPrefix begins the key by which a caller knows an approval among the
// questions of a turn. No other question may have such a key: its answer would
// be taken for a decision.
const KeyPrefix = "approval-"

const (
	// maxForm bounds what a form shows, in bytes. Longer arguments are shown in
	// the console, whole, rather than here in part.
	maxForm = 4 << 10

	howToAnswer = "Answer with the one word “approve”, or “reject”, or “reject: ” and why."
)

// prompt is what the caller sees of one approval while it waits.
type prompt struct {
	*Pending
	row            approvals.Approval // without secrets
	offer          *Offer             // nil = the caller cannot decide here
	inConversation bool               // the question is a message of the conversation
}

// openPrompt tells the caller that a person is being asked, and lets it decide
// if it is one of those.
func (p *Pending) openPrompt(ctx context.Context, a approvals.Approval, fresh bool) *prompt {
	shown := &prompt{Pending: p, row: a}
	if p.approvals.callerDecides(ctx, &a) {
		shown.row = p.approvals.Conceal(ctx, a)[0]
		shown.offerDecision(ctx, fresh)
	}
	shown.remind()
	return shown
}

// remind says again what the call waits for.
func (p *prompt) remind() {
	p.prompter.ShowProgress("waiting for approval of "+ToolName(&p.row), beeos.ApprovalRequested, stepOf(&p.row))
}

// stepOf is an approval without what is for its owner alone: the arguments, and
// who decided why.
func stepOf(a *approvals.Approval) beeos.ApprovalStep {
	return beeos.ApprovalStep{ID: a.ID, Skill: a.Skill, Tool: a.Tool, Status: string(a.State), ExpiresAt: a.ExpiresAt}
}

// offerDecision lets the caller decide: as a question in mid-call, and as a
// pause of the conversation unless the caller's protocol has none.
func (p *prompt) offerDecision(ctx context.Context, fresh bool) {
	form, ok := decisionForm(&p.row)
	if !ok {
		return // too long to be shown whole there
	}
	if m, err := p.approvals.Ledger.FindMessage(ctx, p.row.Channel, p.row.Turn); err == nil {
		protocol, _ := strictjson.StringValue(strictjson.Field(m.Payload, "protocol"))
		p.inConversation = protocol != "mcp"
	}
	if p.inConversation && fresh {
		// The question stays open when the agent goes: it is shown all the same.
		p.appendMessage(context.WithoutCancel(ctx), beeos.Message{
			Publisher: "agent:" + p.row.AgentID, Type: beeos.AgentInputRequired,
			Body: decisionText(&p.row) + "\n\n" + howToAnswer, Payload: decisionPayload(&p.row),
		})
	}
	offer := Offer{ApprovalID: p.row.ID, userID: strings.TrimPrefix(p.row.Caller, "user:")}
	if p.prompter.OpenPrompt(offer, form) == nil { // else others can decide
		p.offer = &offer
	}
}

// close ends what openPrompt began.
func (p *prompt) close() {
	if p.offer != nil {
		p.prompter.ClosePrompt(*p.offer)
	}
}

// showDecision tells whoever watches what was decided, and the conversation too
// unless it was decided there.
func (p *prompt) showDecision(made beeos.Approved) {
	row, err := p.approvals.Table.Get(context.Background(), p.row.ID)
	if err == nil && !row.Open() {
		p.prompter.ShowProgress(ToolName(&row)+" is "+string(row.State), beeos.ApprovalDecided, stepOf(&row))
	}
	if err != nil || !p.inConversation || row.Via == viaConversation || row.Open() {
		return
	}
	text := string(row.State)
	if row.Reason != "" {
		text += ": " + row.Reason
	}
	payload, _ := json.Marshal(map[string]beeos.Approved{"decision": made}) // strings
	p.appendMessage(context.Background(), beeos.Message{Publisher: row.DecidedBy, Type: beeos.Continue, Body: text, Payload: payload})
}

// appendMessage adds to the conversation that the tool call is part of.
func (p *prompt) appendMessage(ctx context.Context, m beeos.Message) {
	m.Channel, m.InReplyTo, m.State = p.row.Channel, p.row.Turn, beeos.StateCompleted
	if _, err := p.approvals.Ledger.Append(ctx, m); err != nil {
		p.approvals.Log.Error("an approval is not shown in its conversation", "approval", p.row.ID, "type", m.Type, "err", err)
	}
}

// decisionText is what the caller's person reads.
func decisionText(a *approvals.Approval) string {
	return "Approve this call of " + ToolName(a) + "? It will be made with exactly these arguments:\n" + FormatArguments(a.Arguments)
}

// decisionForm is the question as an elicitation; ok is false when it is too
// long.
func decisionForm(a *approvals.Approval) (form json.RawMessage, ok bool) {
	text := decisionText(a)
	if len(text) > maxForm {
		return nil, false
	}
	form, err := json.Marshal(map[string]any{
		"message": text,
		"requestedSchema": json.RawMessage(`{"type":"object","properties":{` +
			`"approve":{"type":"boolean","title":"Approve","description":"Yes: the call is made. No: the agent is told that you refused.","default":false},` +
			`"reason":{"type":"string","title":"Reason","description":"What the agent should know"}},"required":["approve"]}`),
	})
	return form, err == nil
}

// decisionPayload is the question for programs that read the conversation.
func decisionPayload(a *approvals.Approval) json.RawMessage {
	payload, _ := json.Marshal(map[string]any{"approval": map[string]any{
		"id": a.ID, "agent_id": a.AgentID, "skill": a.Skill, "tool": a.Tool, "arguments": a.Arguments,
		"requested_at": a.CreatedAt, "expires_at": a.ExpiresAt,
	}}) // strings, times, and JSON that was checked when it came in
	return payload
}
