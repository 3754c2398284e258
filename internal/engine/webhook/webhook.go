// Package webhook tells receivers on the web how a task goes. A webhook is
// registered for a task (register.go); a worker (worker.go) reads off the
// ledger what has changed since it last looked (change.go), and what is sent
// (send.go) goes by package courier, until the receiver takes it or the schedule
// ends. Nothing of this is on the path of a call.
//
// What is sent is signed with a secret that is kept encrypted
// (credentials.go), and only ever goes to addresses of the public Internet, unless the
// configuration says otherwise. format.go is the form of the REST surface;
// others bring their own.
package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/courier"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/outbox"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/wire/outbound"
	"github.com/beeos/beeos/internal/wire/seal"
)

// Options is what webhooks stand on.
type Options struct {
	Webhooks *webhooks.Table
	Cluster  *cluster.Table
	Ledger   *ledger.Ledger
	Bus      *bus.Bus
	Log      *slog.Logger
	Now      func() time.Time

	// Status is how a request stands: task.StatusOf.
	Status func(*ledger.Request) beeos.TaskStatus
	// Formats are the forms besides OpenAPI in which changes can be sent.
	Formats map[string]Format
	// ApprovalLink returns the address at which an approval can be decided, or ""
	// when whoever registered the webhook may not, or it is decided; nil = there
	// are no links.
	ApprovalLink func(ctx context.Context, approval string, w webhooks.Webhook) (string, error)
	// AllowPrivate lets receivers be on this machine and in private networks.
	AllowPrivate bool
	// Resolver finds the addresses of receivers; nil = the system's.
	Resolver *net.Resolver
	// Attempted is told what came of an attempt to send something: a
	// outbox.Status.
	Attempted func(outbox.Status)
	// Every is how often the worker looks for what nobody told it about.
	Every time.Duration
}

// Hooks is all webhooks. Any process may register them; Run is for those that
// also send.
type Hooks struct {
	opt     Options
	sealer  *seal.Sealer
	reach   outbound.Options
	client  *http.Client
	formats map[string]Format

	noticed chan string // tasks that something happened to
	courier *courier.Courier[webhooks.Webhook]
	watched watchedTasks
}

// New returns the webhooks of a system.
func New(ctx context.Context, opt Options) (*Hooks, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Every <= 0 {
		opt.Every = time.Second
	}
	key, err := opt.Cluster.Secret(ctx, webhooks.SealedWith, seal.NewKey)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(key)
	if err != nil {
		return nil, fmt.Errorf("webhook credentials: %w", err)
	}
	h := &Hooks{
		opt: opt, sealer: sealer, formats: map[string]Format{OpenAPI: openAPI},
		reach:   courier.Reach(opt.AllowPrivate, opt.Resolver),
		noticed: make(chan string, 4096), watched: watchedTasks{turns: map[string]struct{}{}},
	}
	for name, f := range opt.Formats {
		h.formats[name] = f
	}
	h.client = outbound.Client(h.reach)
	h.courier = courier.New(courier.Options[webhooks.Webhook]{
		What: "webhook", Queue: opt.Webhooks.Queue, Receivers: opt.Webhooks.ListByDeliveries, Send: h.send, Gone: opt.Webhooks.Disable,
		Log: opt.Log, Now: opt.Now, Attempted: opt.Attempted, Every: opt.Every,
	})
	return h, nil
}
