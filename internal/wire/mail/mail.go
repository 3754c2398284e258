// Package mail sends e-mail through the SMTP server that the operator has named. It
// sends a password over TLS alone: smtps:// begins with it, smtp:// asks for STARTTLS
// and goes no further without, unless the URL ends in ?tls=off, which is for a relay
// of one's own that wants no password.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/beeos/beeos"
)

// Within bounds a connection, from its first byte to its last.
const Within = 10 * time.Second

// Options say where the server is and who writes.
type Options struct {
	URL  string         // smtp://user:password@host:587 or smtps://user:password@host:465
	From string         // an address, or NAME <ADDRESS>
	CAs  *x509.CertPool // who is believed to name servers; nil = the system's
}

// Sender sends mail.
type Sender struct {
	from           mail.Address
	host           string
	port           int
	implicit, bare bool // TLS from the first byte on; none at all
	user, password string
	tls            *tls.Config
}

// New returns what sends mail. It connects to nobody.
func New(o Options) (*Sender, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("SMTP_URL is not smtp://host:587 or smtps://host:465, with user:password@ before the host where the server wants them") // the URL has a password in it
	}
	from, err := mail.ParseAddress(o.From)
	if err != nil {
		return nil, errors.New("SMTP_FROM is no address: write it as bee@example.com, or BeeOS <bee@example.com>")
	}
	s := &Sender{
		from: *from, host: u.Hostname(), implicit: u.Scheme == "smtps", bare: u.Query().Get("tls") == "off",
		tls: &tls.Config{ServerName: u.Hostname(), RootCAs: o.CAs, MinVersion: tls.VersionTLS12},
	}
	s.user = u.User.Username()
	s.password, _ = u.User.Password()
	port := map[bool]string{true: "465", false: "587"}[s.implicit]
	if s.port, err = strconv.Atoi(cmp.Or(u.Port(), port)); err != nil {
		return nil, errors.New("SMTP_URL has no port that is a number")
	}
	if s.bare && (s.implicit || s.user != "") {
		return nil, errors.New("SMTP_URL has ?tls=off, with which there can be neither smtps:// nor a password: leave one of them out")
	}
	return s, nil
}

// Mail is a message of text to one person.
type Mail struct {
	To, Subject, Text string
	ID                string // the same for a repetition; empty = one at random
	ReplyTo           string // the ID of what this follows
	At                time.Time
}

// Send hands a mail to the server, once.
func (s *Sender) Send(ctx context.Context, m Mail) error {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&s.from)
	if err := msg.To(m.To); err != nil {
		return &RefusedError{text: "the address is none that mail can be sent to"}
	}
	msg.Subject(oneLine(m.Subject))
	msg.SetDateWithValue(m.At)
	if m.ID != "" {
		msg.SetMessageIDWithValue(s.threadID(m.ID))
	}
	if m.ReplyTo != "" {
		for _, name := range []gomail.Header{gomail.HeaderInReplyTo, gomail.HeaderReferences} {
			msg.SetGenHeader(name, "<"+s.threadID(m.ReplyTo)+">")
		}
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no program answers such a mail
	msg.SetUserAgent("BeeOS/" + beeos.Version)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return s.talk(ctx, func(c *gomail.Client) error { return c.Send(msg) })
}

func (s *Sender) threadID(id string) string {
	_, domain, _ := strings.Cut(s.from.Address, "@")
	return id + "@" + domain
}

// oneLine is text without line breaks, as headers have it.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Check connects, and signs in where there is a password. It sends nothing.
func (s *Sender) Check(ctx context.Context) error {
	return s.talk(ctx, func(*gomail.Client) error { return nil })
}

// Server is who sends, for people.
func (s *Sender) Server() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// talk opens a connection, does something over it, and closes it in any case.
func (s *Sender) talk(ctx context.Context, do func(*gomail.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	done := func() {}
	defer func() { done() }()
	opts := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(Within), gomail.WithTLSConfig(s.tls), gomail.WithTLSPolicy(s.policy()), gomail.WithoutNoop(),
		gomail.WithDialContextFunc(func(within context.Context, network, address string) (net.Conn, error) {
			conn, err := s.dial(within, network, address)
			if err == nil { // the library leaves it open when what follows fails
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				done = func() { stop(); conn.Close() }
			}
			return conn, err
		}),
	}
	if s.user != "" {
		opts = append(opts, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	c, err := gomail.NewClient(s.host, opts...)
	if err != nil {
		return fmt.Errorf("use the mail server: %w", err)
	}
	if err := c.DialWithContext(ctx); err != nil {
		return explain(err)
	}
	if err := do(c); err != nil {
		return explain(err)
	}
	c.Close() //nolint:errcheck // what was to be done is done
	return nil
}

func (s *Sender) policy() gomail.TLSPolicy {
	switch {
	case s.bare:
		return gomail.NoTLS
	case s.implicit: // the connection has it; the library only has to notice
		return gomail.TLSOpportunistic
	}
	return gomail.TLSMandatory
}

func (s *Sender) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if s.implicit {
		return (&tls.Dialer{Config: s.tls}).DialContext(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// RefusedError is the word of a mail server that will not change: it is of no use to
// try again.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// maxReason bounds what is repeated of a server's words, in bytes.
const maxReason = 300

// explain is an error in words for people. Passwords are in none of the library's.
func explain(err error) error {
	if sent, ok := errors.AsType[*gomail.SendError](err); ok {
		text := beeos.Shorten(beeos.Visible(oneLine(sent.Error())), maxReason)
		about := sent.Reason == gomail.ErrSMTPRcptTo || sent.Reason == gomail.ErrSMTPDataClose // the mail, not us
		if about && !sent.IsTemp() && sent.ErrorCode() >= 500 {
			return &RefusedError{text}
		}
		return errors.New(text)
	}
	return err
}
