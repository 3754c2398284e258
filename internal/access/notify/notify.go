// Package notify tells people of approvals that wait for them, where they want to
// hear of them. A person sets up channels (channels.go); a watch reads off the
// approvals who has not been told what, and puts it into the outbox of each channel
// (watch.go), from which package courier sends it until it is taken. What is told
// is event.go: what is kept of it has no secret and no link; the link to decide by
// is made for each attempt (send.go). Each kind of channel is a sender: webhook.go,
// email.go, slack.go, telegram.go; the latter two have buttons (press.go).
//
// Sending touches no approval, so a message that is lost, late or sent twice decides
// nothing. A button that is pressed is a decision like any other.
package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/keys"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/people"
	"github.com/beeos/beeos/internal/wire/mail"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/internal/wire/seal"
)

// Options is what notifications stand on.
type Options struct {
	Table     *notifications.Table
	Approvals *approval.Approvals
	Agents    *agents.Table
	People    *people.Table
	Keys      *keys.Table
	Cluster   *cluster.Table
	Mail      *mail.Sender // nil: there are no channels by e-mail
	Bus       *bus.Bus     // nil: the watch looks now and then
	Log       *slog.Logger
	Now       func() time.Time
	Web       string // where the console is
	REST      string // where services post what is pressed

	// AllowPrivate lets receivers be on this machine and in private networks.
	AllowPrivate bool
	Resolver     *net.Resolver       // finds the addresses of receivers; nil = the system's
	Slack        string              // its API; "" = where it is
	Telegram     string              // likewise
	Attempted    func(outbox.Status) // nil = nobody counts
	Every        time.Duration       // how often the watch looks for what nobody told it about
}

// Notifier keeps the channels of people and tells them. Any process may set up
// channels; Run is for those that also send.
type Notifier struct {
	opt     Options
	sealer  *seal.Sealer
	senders map[notifications.Kind]sender
	courier *courier.Courier[notifications.Channel]
	wake    chan struct{} // an approval has changed
}

// retries is sooner than for webhooks of tasks: most questions are good for minutes.
var retries = []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// New returns the notifications of a system.
func New(ctx context.Context, opt Options) (*Notifier, error) {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	opt.Every = cmp.Or(opt.Every, time.Second)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	key, err := opt.Cluster.Secret(ctx, notifications.SealedWith, seal.NewKey)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("secrets of notification channels: %w", err)
	}
	n := &Notifier{opt: opt, sealer: sealer, wake: make(chan struct{}, 1)}
	api := outbound.Client(courier.Reach(opt.AllowPrivate, opt.Resolver))
	n.senders = map[notifications.Kind]sender{
		notifications.Webhook: newWebhookSender(&n.opt), notifications.Slack: &slackSender{&n.opt, cmp.Or(opt.Slack, slackAPI), api},
		notifications.Telegram: &telegramSender{&n.opt, cmp.Or(opt.Telegram, telegramAPI), api},
	}
	if opt.Mail != nil {
		n.senders[notifications.Email] = &emailSender{&n.opt}
	}
	n.courier = courier.New(courier.Options[notifications.Channel]{
		What: "channel", Queue: opt.Table.Queue, Retries: retries, Receivers: opt.Table.ListByDeliveries, Send: n.send, Gone: opt.Table.Disable,
		Log: opt.Log, Now: opt.Now, Attempted: opt.Attempted, Every: opt.Every,
	})
	return n, nil
}

// Run tells people until ctx ends. Any number of processes may run it side by side.
func (n *Notifier) Run(ctx context.Context) error {
	if n.opt.Bus != nil {
		stop := n.opt.Bus.OnControl(func(c bus.Control) {
			if c.Kind == bus.ApprovalChanged {
				n.wakeWatch()
			}
		})
		defer stop()
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.runWatch(ctx) })
	g.Go(func() error { return n.courier.Run(ctx) })
	return g.Wait()
}

// wakeWatch says that there may be something to tell.
func (n *Notifier) wakeWatch() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func newID(prefix string) string { return prefix + beeos.NewID() }
