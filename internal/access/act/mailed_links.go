package act

import (
	"context"

	"github.com/beeos/beeos/internal/wire/mail"
)

// Letter is what became of a one-time link that somebody else is to have: it was
// mailed to them, or whoever made it has to send it.
type Letter struct {
	Token  string // of the link; "" = it was mailed
	Mailed bool
	Why    string // it could not be mailed; "" = there is no mail server
}

// mailLink mails a one-time link where there is a mail server. When that fails, who
// made it sends it themselves, as if there were none.
func (a *Acts) mailLink(ctx context.Context, to, token, subject, text string) Letter {
	if a.Mail == nil {
		return Letter{Token: token}
	}
	err := a.Mail.Send(ctx, mail.Mail{To: to, Subject: subject, Text: text + "\n\n" + a.Web + "/welcome?token=" + token + "\n", At: a.Now()})
	if err != nil {
		a.Log.WarnContext(ctx, "a link could not be mailed", "err", err)
		return Letter{Token: token, Why: "the mail server did not take it"}
	}
	return Letter{Mailed: true}
}
