// Package act is what owners and admins do: to agents and the built-in ones
// among them, to skills, keys, join tokens, instances, approval rules, webhooks,
// notification channels, budgets, conversations, calls, users and grants; a file for each. An act checks who may do it
// (permissions.go), does it, writes one row into the audit trail (audit.go) and tells
// the other nodes. What owners show to others is read here, too (offers.go), and how their agents do (health.go)
// and their calls went (calls.go), without what nobody gets to see (conceal.go). REST, console and command line translate to it and back.
package act

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/mail"
)

// Options is what acts are done with. A process that only works on the
// database has DB and People alone.
type Options struct {
	DB        *store.Store // whole: acts change things in nine of its tables
	Ledger    *ledger.Ledger
	Bus       *bus.Bus // nil: running servers find out within half a minute
	Invoke    *invoke.Calls
	Approvals *approval.Approvals
	Hooks     *webhook.Hooks
	Notify    *notify.Notifier
	Mail      *mail.Sender // nil: links are shown to whoever makes them
	Web       string       // where the console is, for links in mail
	People    *signin.People
	OAuth     *oauth.Server
	Builtins  Builtins      // nil: nobody runs built-in agents, as on the command line
	Server    func() Server // what this process knows of itself; nil = nothing, as on the command line
	Log       *slog.Logger
	Now       func() time.Time // nil = time.Now
}

// Acts does what owners and admins ask for.
type Acts struct{ Options }

// New returns the acts of one process.
func New(opt Options) *Acts {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	return &Acts{opt}
}

// tellChanged makes every node read an agent again.
func (a *Acts) tellChanged(agentID string) {
	a.tell(bus.Control{Kind: bus.AgentChanged, AgentID: agentID})
}

// tellRevoked ends what a key, an instance, a grant or the keys of an agent
// still hold open, on every node.
func (a *Acts) tellRevoked(id string) {
	a.tell(bus.Control{Kind: bus.KeyRevoked, ID: id})
}

func (a *Acts) tell(c bus.Control) {
	if a.Bus != nil {
		a.Bus.Control(c)
	}
}

func isAbsent(err error) bool { return beeos.CodeOf(err) == beeos.NotFound }
