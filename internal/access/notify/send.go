package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
)

// sender is one kind of channel.
type sender interface {
	// setUp checks what is needed, and returns what is kept of it in secret.
	setUp(ctx context.Context, c *notifications.Channel, s *Setup) (secrets, error)
	send(ctx context.Context, m *message) courier.Outcome
}

// message is an event on its way to a channel.
type message struct {
	Event
	id      string // of the delivery: a repetition has the same
	channel *notifications.Channel
	owner   beeos.User
	secrets secrets

	reference string                                            // of the message that asked; "" = none is known
	keep      func(ctx context.Context, reference string) error // notes that of this one
}

// send makes one attempt at a delivery.
func (n *Notifier) send(ctx context.Context, d outbox.Delivery, c notifications.Channel) courier.Outcome {
	to, ok := n.senders[c.Kind]
	if !ok {
		return courier.Outcome{Err: fmt.Errorf("this server does not send to a channel of kind %s", c.Kind)}
	}
	m, why, err := n.compose(ctx, &d, &c)
	switch {
	case err != nil:
		n.opt.Log.ErrorContext(ctx, "a message cannot be made", "delivery", d.ID, "err", err)
		return courier.Outcome{Err: errors.New("the message could not be made; it is tried again")}
	case why != "":
		return courier.Outcome{Idle: true, Err: errors.New(why)}
	}
	return to.send(ctx, m)
}

// compose is the message as it is sent now: with a link to decide by, which is kept
// nowhere. why tells that it need not be sent any more.
func (n *Notifier) compose(ctx context.Context, d *outbox.Delivery, c *notifications.Channel) (m *message, why string, err error) {
	m = &message{id: d.ID, channel: c}
	if err := json.Unmarshal(d.Payload, &m.Event); err != nil {
		return nil, "", err
	}
	if err := n.sealer.OpenJSON(c.Sealed, c.ID, &m.secrets); err != nil {
		return nil, "", fmt.Errorf("the secrets of channel %s cannot be decrypted: %w", c.ID, err)
	}
	if m.owner, err = n.opt.People.GetUser(ctx, c.OwnerID); err != nil {
		return nil, "", err
	}
	if !m.owner.DisabledAt.IsZero() {
		return nil, "the person it was for is locked out", nil
	}
	if m.Approval != nil {
		m.keep = func(ctx context.Context, reference string) error {
			return n.opt.Table.KeepReference(context.WithoutCancel(ctx), m.Approval.ID, c.ID, reference)
		}
		if m.reference, err = n.opt.Table.Reference(ctx, m.Approval.ID, c.ID); err != nil {
			return nil, "", err
		}
	}
	if m.Approval == nil {
		return m, "", nil
	}
	if m.asks() {
		why, err = n.addLink(ctx, m)
		return m, why, err
	}
	return m, "", n.hideFromOthers(ctx, m)
}

// addLink adds where the channel's person can decide. why tells that they need not, or
// may not, any more.
func (n *Notifier) addLink(ctx context.Context, m *message) (why string, err error) {
	a, err := n.opt.Approvals.Table.Get(ctx, m.Approval.ID)
	if beeos.CodeOf(err) == beeos.NotFound || err == nil && !a.Open() {
		return "this was decided before it could be sent", nil
	}
	if err != nil {
		return "", err
	}
	st, err := n.opt.Approvals.Standings(ctx, &beeos.User{ID: m.owner.ID}, []approvals.Approval{a})
	if err != nil {
		return "", err
	}
	if !st[0].MayDecide {
		return "the person it was for does not decide about this any more", nil
	}
	m.Approval.URL, err = n.opt.Approvals.LinkFor(ctx, a.ID, a.Turn, "user:"+m.owner.ID)
	return "", err
}

// hideFromOthers keeps from who was a reviewer, and is none any more, what it was about:
// they hear that nobody waits for them.
func (n *Notifier) hideFromOthers(ctx context.Context, m *message) error {
	_, err := n.opt.Approvals.Find(ctx, m.Approval.ID, approval.Decider{User: beeos.User{ID: m.owner.ID}})
	if beeos.CodeOf(err) == beeos.NotFound {
		m.Approval.Arguments, m.Approval.ArgumentsText = nil, ""
		return nil
	}
	return err
}

// asks reports whether somebody is to decide.
func (e *Event) asks() bool { return e.Type == ApprovalRequested || e.Type == ApprovalReminder }

// summary says in one line what happened.
func (m *message) summary() string {
	if m.Approval == nil {
		return "BeeOS can reach you here"
	}
	a := m.Approval
	what := beeos.Visible(beeos.Shorten(a.ToolName(), 100)) + " of " + beeos.Visible(beeos.Shorten(a.Agent, 100))
	switch {
	case m.Type == ApprovalReminder:
		return "Reminder: approve " + what + "?"
	case m.Type == ApprovalRequested:
		return "Approve " + what + "?"
	case a.Status == approvals.Approved:
		return "Approved: " + what
	case a.Status == approvals.Rejected:
		return "Rejected: " + what
	case a.Status == approvals.Expired:
		return "Expired: " + what
	}
	return "Nothing to decide any more: " + what
}
