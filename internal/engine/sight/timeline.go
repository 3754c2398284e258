package sight

import (
	"slices"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// Moment is something that happened to a call.
type Moment struct {
	At      time.Time
	Kind    Kind
	Attempt int    // which one it belongs to; 0 = none
	Who     string // a principal, or the instance of an attempt
	What    string // the tool, the outcome, why it ended, or the beginning of what was said
}

// Kind says what happened. The names are part of the REST contract.
type Kind string

const (
	Received        Kind = "received"          // the caller's words were here
	Stored          Kind = "stored"            // from here on they are not lost
	Dispatched      Kind = "dispatched"        // an attempt began
	Given           Kind = "given"             // its instance was sent it
	Started         Kind = "started"           // the instance showed the first sign of work
	FirstText       Kind = "first_text"        // the first words of the answer were here
	AttemptOver     Kind = "attempt_over"      // it ended without a reply; What is why
	QuestionAsked   Kind = "question_asked"    // the agent asked the caller
	QuestionAnswer  Kind = "question_answered" // and was answered
	ApprovalAsked   Kind = "approval_asked"    // a tool call waited for a person
	ApprovalDecided Kind = "approval_decided"  // who said what
	CancelAsked     Kind = "cancel_asked"      // the caller wanted it to end
	ReplyStored     Kind = "reply_stored"      // it was over; What is how
	Delivered       Kind = "delivered"         // a webhook of the caller's took the news of that
)

// maxWords bounds what a moment repeats of what was said.
const maxWords = 200

// timeline puts what is known in order of time.
func timeline(c *Call, messages []beeos.Message, delivered []time.Time) []Moment {
	var list []Moment
	add := func(at time.Time, m Moment) {
		if !at.IsZero() {
			m.At = at
			list = append(list, m)
		}
	}
	received := beeos.IDTime(c.ID)
	if received.IsZero() || received.After(c.CreatedAt) {
		received = c.CreatedAt
	}
	add(received, Moment{Kind: Received, Who: c.Publisher, What: c.Payload.Protocol})
	add(c.CreatedAt, Moment{Kind: Stored})
	for _, a := range c.Attempts {
		who := Moment{Attempt: a.Number, Who: a.Instance}
		for _, step := range []struct {
			kind Kind
			at   time.Time
		}{{Dispatched, a.Began}, {Given, a.Given}, {Started, a.Started}, {FirstText, a.FirstText}} {
			who.Kind = step.kind
			add(step.at, who)
		}
		who.Kind, who.What = AttemptOver, string(a.Why)
		add(a.Ended, who)
	}
	for i := range messages {
		asks := func(a approvals.Approval) bool { return a.ID == messages[i].AskedApproval() }
		if slices.ContainsFunc(c.Approvals, asks) {
			continue // it has moments of its own
		}
		if m := momentOf(&messages[i]); m.Kind != "" {
			add(messages[i].CreatedAt, m)
		}
	}
	for i := range c.Approvals {
		a := &c.Approvals[i]
		add(a.CreatedAt, Moment{Kind: ApprovalAsked, What: toolOf(a)})
		add(a.DecidedAt, Moment{Kind: ApprovalDecided, Who: a.DecidedBy, What: string(a.State)})
	}
	if c.Done != nil {
		add(c.Done.CreatedAt, Moment{Kind: ReplyStored, What: c.Outcome.String()})
	}
	for _, at := range delivered {
		add(at, Moment{Kind: Delivered})
	}
	slices.SortStableFunc(list, func(a, b Moment) int { return a.At.Compare(b.At) })
	return list
}

// momentOf is what a message of the exchange means for the call; the terminal
// reply has a moment of its own.
func momentOf(m *beeos.Message) Moment {
	switch m.Type {
	case beeos.AgentInputRequired, beeos.AgentAuthRequired:
		return Moment{Kind: QuestionAsked, What: beeos.Shorten(m.Body, maxWords)}
	case beeos.Continue, beeos.AuthGrant:
		return Moment{Kind: QuestionAnswer, Who: m.Publisher}
	case beeos.ChatCancel:
		return Moment{Kind: CancelAsked, Who: m.Publisher}
	}
	return Moment{}
}

func toolOf(a *approvals.Approval) string {
	if a.Skill != "" {
		return a.Skill + " / " + a.Tool
	}
	return a.Tool
}
