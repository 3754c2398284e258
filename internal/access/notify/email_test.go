package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/internal/wire/mail"
	"github.com/beeos/beeos/test/smtptest"
)

// TestMailOfApprovals: a person is asked by mail, with a link and without secrets, and
// reads in the same thread how it ended.
func TestMailOfApprovals(t *testing.T) {
	server := smtptest.Start(t, smtptest.StartTLS)
	r := newRig(t, storetest.Open(t, storetest.SQLiteURL(t)), withMail(t, server))
	r.run(r.Notifier)
	c, made, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Email})
	if err != nil || made != "" || c.Target != "" {
		t.Fatalf("%+v %q %v", c, made, err)
	}
	a := r.ask("turn-1")
	asked := server.Next(t)
	if len(asked.To) != 1 || asked.To[0] != r.owner.Email || asked.Headers["subject"] != "Approve pay of The clerk?" || !asked.Encrypted || !asked.Authenticated {
		t.Errorf("%+v", asked)
	}
	for _, want := range []string{"Agent:   The clerk", "Tool:    pay", "Caller:  somebody", `"to": "bob"`, "•••", "http://console.test/approve?token=" + a.ID, a.ExpiresAt.UTC().Format("15:04:05 UTC")} {
		if !strings.Contains(asked.Text, want) {
			t.Errorf("the mail lacks %q:\n%s", want, asked.Text)
		}
	}
	if strings.Contains(asked.Text, "s3cret") {
		t.Errorf("%s", asked.Text)
	}
	r.decide(a, false)
	ended := server.Next(t)
	if ended.Headers["subject"] != "Rejected: pay of The clerk" || ended.Headers["in-reply-to"] != asked.Headers["message-id"] || asked.Headers["message-id"] == "" ||
		!strings.Contains(ended.Text, "Rejected by Test at") || !strings.Contains(ended.Text, "because") || strings.Contains(ended.Text, "token=") {
		t.Errorf("%+v", ended)
	}
	if _, err := r.Test(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if m := server.Next(t); !strings.Contains(m.Text, "This is a test") {
		t.Errorf("%+v", m)
	}
	server.Quiet(t)
	if _, _, err := r.Create(t.Context(), r.owner.ID, Setup{Kind: notifications.Email, URL: "https://example.com"}); beeos.CodeOf(err) != beeos.InvalidParam {
		t.Error(err)
	}
}

// TestMailThatIsRefused: an address that is none is not tried again, a server without
// room is.
func TestMailThatIsRefused(t *testing.T) {
	server := smtptest.Start(t, smtptest.StartTLS)
	db := storetest.Open(t, storetest.SQLiteURL(t))
	r := newRig(t, db, withMail(t, server))
	r.run(r.Notifier)
	for name, want := range map[string]outbox.Status{"nobody": outbox.Dead, "later": outbox.Failed} {
		u := beeos.User{ID: beeos.NewID(), Email: name + "@example.com", Name: name, CreatedAt: time.Now()}
		if err := db.People.CreateUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		c, _, err := r.Create(t.Context(), u.ID, Setup{Kind: notifications.Email})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Test(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		d := r.delivery(c, "attempted", func(d outbox.Delivery) bool { return d.Attempts == 1 })
		if d.Status != want || d.Error == "" || strings.Contains(d.Error, "hunter") {
			t.Errorf("%s: %+v", name, d)
		}
	}
	server.Quiet(t)
}

// withMail lets a process write mail by a server.
func withMail(t *testing.T, server *smtptest.Server) func(*Options) {
	t.Helper()
	sender, err := mail.New(mail.Options{URL: "smtp://" + smtptest.User + ":" + smtptest.Password + "@" + server.Host, From: "bee@example.com", CAs: server.CAs})
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Mail = sender }
}
