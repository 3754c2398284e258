package mail_test

import (
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/wire/mail"
	"github.com/beeos/beeos/test/smtptest"
)

func newSender(t *testing.T, url string, cas *x509.CertPool) *mail.Sender {
	t.Helper()
	s, err := mail.New(mail.Options{URL: url, From: "BeeOS <bee@example.com>", CAs: cas})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMailArrives, by every way there is to a server: encrypted and with a password
// where the server has those.
func TestMailArrives(t *testing.T) {
	for how, url := range map[string]string{
		smtptest.StartTLS: "smtp://bee:hunter2@HOST", smtptest.TLS: "smtps://bee:hunter2@HOST", smtptest.Plain: "smtp://HOST?tls=off",
	} {
		t.Run(how, func(t *testing.T) {
			server := smtptest.Start(t, how)
			s := newSender(t, strings.Replace(url, "HOST", server.Host, 1), server.CAs)
			if err := s.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
			text := "Zeile mit Ü\n.\nFrom the start\n" + strings.Repeat("long ", 300) + "\n"
			err := s.Send(t.Context(), mail.Mail{To: "ann@example.com", Subject: "Pay?\r\nBcc: eve@example.com Ü", Text: text, ID: "b", ReplyTo: "a", At: at})
			if err != nil {
				t.Fatal(err)
			}
			m := server.Next(t)
			if m.From != "bee@example.com" || len(m.To) != 1 || m.To[0] != "ann@example.com" || m.Headers["subject"] != "Pay? Bcc: eve@example.com Ü" || m.Headers["bcc"] != "" {
				t.Errorf("%+v", m)
			}
			if m.Headers["message-id"] != "<b@example.com>" || m.Headers["in-reply-to"] != "<a@example.com>" || m.Headers["from"] != "BeeOS <bee@example.com>" || m.Headers["auto-submitted"] != "auto-generated" || !strings.Contains(m.Headers["date"], "02 Jan 2030") {
				t.Errorf("%+v", m.Headers)
			}
			if got := strings.ReplaceAll(m.Text, "\r\n", "\n"); got != text {
				t.Errorf("%q", got)
			}
			if secure := how != smtptest.Plain; m.Encrypted != secure || m.Authenticated != secure {
				t.Errorf("encrypted %v, with a password %v", m.Encrypted, m.Authenticated)
			}
		})
	}
}

// TestRefusals: what will not change is told apart from what may, and no error has the
// password in it.
func TestRefusals(t *testing.T) {
	server := smtptest.Start(t, smtptest.StartTLS)
	plain := smtptest.Start(t, smtptest.Plain)
	at := func(url string) *mail.Sender { return newSender(t, url, server.CAs) }
	good := at("smtp://bee:hunter2@" + server.Host)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent.Close()
	for name, c := range map[string]struct {
		by    *mail.Sender
		to    string
		final bool
	}{
		"no such mailbox":      {good, "nobody@example.com", true},
		"no room yet":          {good, "later@example.com", false},
		"no address":           {good, "not an address", true},
		"wrong password":       {at("smtp://bee:hunter3@" + server.Host), "ann@example.com", false},
		"no password":          {at("smtp://" + server.Host), "ann@example.com", false},
		"no TLS where asked":   {at("smtp://bee:hunter2@" + plain.Host), "ann@example.com", false},
		"unknown certificate":  {newSender(t, "smtp://bee:hunter2@"+server.Host, nil), "ann@example.com", false},
		"TLS to what has none": {at("smtps://bee:hunter2@" + plain.Host), "ann@example.com", false},
		"nobody there":         {at("smtp://bee:hunter2@" + silent.Addr().String()), "ann@example.com", false},
	} {
		err := c.by.Send(t.Context(), mail.Mail{To: c.to, Subject: "x", Text: "x", At: time.Now()})
		_, final := errors.AsType[*mail.RefusedError](err)
		if err == nil || final != c.final || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Quiet(t)
	plain.Quiet(t)
	if err := at("smtp://bee:hunter3@" + server.Host).Check(t.Context()); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("a wrong password is let in: %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for url, want := range map[string]string{
		"http://bee:hunter2@x": "SMTP_URL", "smtp://": "SMTP_URL", "smtp://%zz:hunter2": "SMTP_URL",
		"smtp://bee:hunter2@x?tls=off": "tls=off", "smtps://x?tls=off": "tls=off",
	} {
		if _, err := mail.New(mail.Options{URL: url, From: "bee@example.com"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := mail.New(mail.Options{URL: "smtp://x", From: "nobody"}); err == nil || !strings.Contains(err.Error(), "SMTP_FROM") {
		t.Error(err)
	}
	for url, want := range map[string]string{"smtp://x": "x:587", "smtps://x": "x:465", "smtp://x:25?tls=off": "x:25"} {
		if got := newSender(t, url, nil).Server(); got != want {
			t.Errorf("%s is %s", url, got)
		}
	}
}
