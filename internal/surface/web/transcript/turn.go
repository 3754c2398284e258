package transcript

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	approvalstore "github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/schema"
)

// Turn is what a person said, and what the agent made of it.
type Turn struct {
	ID, Agent, Path string
	At              time.Time
	Message         string
	Attachments     []File

	Open      bool // the agent works on it
	Stopping  bool
	Waiting   bool // nobody is there to work on it
	Text      string
	Reasoning string
	ToolCalls []*ToolCall
	Files     []File
	Extras    []Extra
	Progress  string
	Percent   int // 0 = unknown
	Questions []*Question
	Approvals []page.ApprovalCard // of tool calls that the agent does not list itself

	Stopped  bool
	Problem  string // what went wrong
	Advice   string // what to do about it
	RetryKey string // the idempotency key for sending it again

	attempt   int
	liveBytes int    // about how much of the answer came before its end
	blocks    string // text in content blocks, beside the answer's own text
	settled   bool   // all is known about it
	asked     []askedApproval
}

// askedApproval is an approval of the turn, and how it is shown.
type askedApproval struct {
	approval *approvalstore.Approval
	card     page.ApprovalCard
}

// Limits of what is kept of an unfinished answer: an agent may talk for an hour.
// The whole answer comes at its end.
const (
	maxLiveBytes = 1 << 20
	livePartCost = 1 << 10 // what each part counts for, beside its own bytes
)

func newTurn(m *beeos.Message, agent *beeos.Agent, path string) *Turn {
	u := &Turn{ID: m.ID, Agent: page.AgentTitle(agent), Path: path, At: m.CreatedAt, Message: cmp.Or(m.Body, describeCall(agent, m.Payload)), Open: true}
	for _, p := range readParts(m.Parts) {
		if p.Type == "file" {
			u.Attachments = append(u.Attachments, p.file(false))
		}
	}
	return u
}

// describeCall says what a message without words asks for, but for what the tool's
// schema names secret: somebody may look over one's shoulder.
func describeCall(agent *beeos.Agent, payload json.RawMessage) string {
	var call beeos.Call
	if json.Unmarshal(payload, &call) != nil || call.Tool == "" {
		return ""
	}
	secrets := schema.Secrets{}
	for _, s := range agent.Definition.Skills {
		if s.Name == call.Tool {
			secrets = schema.ReadSecrets(s.InputSchema)
		}
	}
	return call.Tool + " " + string(secrets.Mask(call.Arguments))
}

// IsFinal reports whether the turn will not look different any more.
func (u *Turn) IsFinal() bool { return !u.Open && u.settled }

// WaitsForVisitor reports whether the agent waits for the visitor.
func (u *Turn) WaitsForVisitor() bool {
	return slices.ContainsFunc(u.Approvals, func(a page.ApprovalCard) bool { return a.Open }) ||
		slices.ContainsFunc(u.ToolCalls, func(c *ToolCall) bool { return c.Approval != nil && c.Approval.Open }) ||
		slices.ContainsFunc(u.Questions, func(q *Question) bool { return q.Open })
}

// addEvent adds what the agent shows before its answer is complete.
func (u *Turn) addEvent(ev *beeos.Event) {
	if ev.Attempt < u.attempt && ev.Attempt > 0 {
		return
	}
	if ev.Kind == beeos.EventDelta && (ev.SoFar || ev.Attempt > u.attempt) { // it starts over, or all of it comes at once
		u.Text, u.Reasoning = "", ""
		u.dropParts()
		u.attempt, u.liveBytes = ev.Attempt, 0
	}
	if u.liveBytes += liveCost(ev); u.liveBytes > maxLiveBytes && !ev.SoFar {
		return
	}
	switch ev.Kind {
	case beeos.EventDelta:
		u.Text += ev.Text
		u.Reasoning += ev.Reasoning
		u.Waiting = false
		u.addParts(ev.Parts)
		if ev.Part != nil {
			u.addParts(json.RawMessage("[" + string(ev.Part) + "]"))
		}
		u.placeApprovals()
	case beeos.EventProgress:
		u.Progress, u.Percent = safetext.Line(ev.Text, 200), 0
		if ev.Total > 0 && ev.Progress >= 0 {
			u.Percent = int(min(ev.Progress/ev.Total, 1) * 100)
		}
	case beeos.EventAsk:
		u.addForm(ev)
	}
}

// liveCost is what an event adds to the memory of the turn. Words come in many
// small pieces, which become one text.
func liveCost(ev *beeos.Event) int {
	n := len(ev.Text) + len(ev.Reasoning) + len(ev.Parts) + len(ev.Part) + len(ev.Data)
	switch {
	case ev.Kind == beeos.EventProgress:
		return 0
	case ev.Part != nil || ev.Kind == beeos.EventAsk:
		return n + livePartCost
	}
	return n
}

// finish takes the reply that ends the turn.
func (u *Turn) finish(m *beeos.Message) {
	u.Open, u.Stopping, u.Waiting, u.Progress, u.Percent = false, false, false, "", 0
	u.closeQuestions()
	before, reasoning := u.ToolCalls, u.Reasoning
	u.Reasoning = ""
	u.dropParts()
	if m.Type != beeos.AgentReply && len(m.Parts) == 0 {
		u.ToolCalls = before // a failure need not say what was done before it
	}
	u.addParts(m.Parts)
	u.Reasoning = cmp.Or(u.Reasoning, reasoning) // which need not be part of the answer
	u.placeApprovals()
	if m.Type == beeos.AgentReply {
		u.Text = m.Body
		if u.blocks != "" && u.blocks != m.Body {
			u.Text += "\n\n" + u.blocks
		}
		u.Stopped = m.StopReason == beeos.StopUser
		return
	}
	u.Text = readPayload(m.Payload).Partial
	if m.State == beeos.StateCancelled {
		u.Stopped = true
		return
	}
	u.Problem, u.Advice = describeFailure(m, u.Agent)
	u.RetryKey = "again-" + u.ID
}

// describeFailure says what went wrong, and what to do about it.
func describeFailure(m *beeos.Message, agent string) (problem, advice string) {
	switch {
	case m.Type == beeos.AgentRefuse:
		problem, advice = agent+" declined", "Ask in another way, or ask its owner what it may do."
	case m.Type == beeos.AgentBusy:
		problem, advice = agent+" is busy", "It takes one thing at a time. Try again in a moment."
	case m.StopReason == beeos.StopTimeout:
		problem, advice = "No answer came in time", "Try again. If it happens often, look at the agent's own log."
	case m.StopReason == beeos.StopAgentLost:
		problem, advice = agent+" went away while it worked on this", "Make sure that its process runs, and try again. What it did before it went away is not undone."
	default:
		problem, advice = agent+" failed", "Try again. The agent's own log may say more."
	}
	if reason := strings.TrimSpace(safetext.Reveal(m.Body)); reason != "" {
		problem += ": " + reason
	}
	return page.Sentence(problem), advice
}

// setApprovals takes the approvals of the turn out of lists of all turns;
// cards[i] shows approvals[i].
func (u *Turn) setApprovals(approvals []approvalstore.Approval, cards []page.ApprovalCard) {
	u.settled, u.asked = !u.Open, nil
	for i := range approvals {
		if approvals[i].Turn != u.ID {
			continue
		}
		card := cards[i]
		card.Back = u.Path
		u.asked = append(u.asked, askedApproval{approval: &approvals[i], card: card})
	}
	u.placeApprovals()
}

// placeApprovals puts each approval beside the tool call that it was asked for.
// The tool calls may be told anew at any moment, and a card that somebody is
// about to press must not vanish until the approvals are read again.
func (u *Turn) placeApprovals() {
	u.Approvals = nil
	for _, c := range u.ToolCalls {
		c.Approval = nil
	}
	for i := range u.asked {
		asked := &u.asked[i]
		at := slices.IndexFunc(u.ToolCalls, func(c *ToolCall) bool { return c.Approval == nil && c.matches(asked.approval) })
		if at < 0 {
			u.Approvals = append(u.Approvals, asked.card)
		} else {
			u.ToolCalls[at].Approval = &asked.card
		}
	}
}
