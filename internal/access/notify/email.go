package notify

import (
	"context"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/wire/mail"
)

// emailSender writes to a person's own address, as it is when something is sent:
// nobody can have mail sent to somebody else.
type emailSender struct{ opt *Options }

func (e *emailSender) setUp(_ context.Context, _ *notifications.Channel, s *Setup) (secrets, error) {
	if s.URL != "" || s.To != "" || s.Secret != "" || s.Token != "" {
		return secrets{}, beeos.Errorf(beeos.InvalidParam, "a channel of kind email goes to your own address and takes no url, to, secret or token")
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
