package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/wire/mail"
)

// emailSender writes to a person's own address, as it is when something is sent:
// nobody can have mail sent to somebody else.
type emailSender struct{ opt *Options }

func (e *emailSender) setUp(_ context.Context, _ *notifications.Channel, s *Setup) (secrets, error) {
	if s.URL != "" || s.Secret != "" || s.Token != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind email goes to your own address and takes no url, secret or token")
	}
	return secrets{}, nil
}

func (e *emailSender) send(ctx context.Context, m *message) courier.Outcome {
	letter := mail.Mail{To: m.owner.Email, Subject: m.summary(), Text: m.text(e.opt.Web), ID: m.id, At: e.opt.Now()}
	if m.Approval != nil { // so that mail programs keep them together
		thread := m.Approval.ID + "." + m.channel.ID
		if m.Type == ApprovalRequested {
			letter.ID = thread
		} else {
			letter.ReplyTo = thread
		}
	}
	err := e.opt.Mail.Send(ctx, letter)
	if err == nil {
		return courier.Outcome{}
	}
	if refused, ok := errors.AsType[*mail.RefusedError](err); ok {
		return courier.Outcome{Err: refused, Final: true}
	}
	return courier.Outcome{Err: fmt.Errorf("%s", courier.PublicReason(err))} // the whole error would tell about our network
}

// text is a message as people read it.
func (m *message) text(console string) string {
	a := m.Approval
	if a == nil {
		return "This is a test. Approvals that wait for you are told here.\n"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Agent:   %s", shown(a.Agent))
	line("Tool:    %s", shown(a.ToolName()))
	line("Caller:  %s", shown(a.CallerName))
	switch {
	case m.asks():
		line("Until:   %s", clock(a.ExpiresAt))
		line("\nIt would be called with:\n\n%s\n", a.ArgumentsText)
		if a.URL != "" {
			line("See all of it, and approve or reject:\n%s\n", a.URL)
			line("Whoever has this link can decide, once. Do not pass it on.")
		}
	case a.Status == approvals.Approved, a.Status == approvals.Rejected:
		line("\n%s %s at %s.", strings.ToUpper(string(a.Status[:1]))+string(a.Status[1:]), m.decider(), clock(a.DecidedAt))
		if a.Reason != "" {
			line("Reason: %s", shown(a.Reason))
		}
	case a.Status == approvals.Expired:
		line("\nNobody decided in time, so it was rejected.")
	default:
		line("\nNobody need decide any more: %s.", shown(a.Reason))
	}
	line("\nAll that waits for you: %s/approvals", strings.TrimRight(console, "/"))
	return b.String()
}

// decider says who decided.
func (m *message) decider() string {
	if m.Approval.DecidedBy == "link" {
		return "by whoever had a link"
	}
	if name := m.Approval.DeciderName; name != "" {
		return "by " + shown(name)
	}
	return "by somebody"
}

// shown is text of others in a message: on one line, with nothing hidden in it.
func shown(text string) string {
	return beeos.Visible(beeos.Shorten(strings.Join(strings.Fields(text), " "), 200))
}

func clock(at time.Time) string { return at.UTC().Format("2 Jan 2006 15:04:05 UTC") }
