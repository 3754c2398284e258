// Package app builds the parts that a configuration asks for and runs them:
// app.go is the order in which they start and stop, surfaces.go what listens
// where, drain.go what a stopping process still does, address.go how they share one address, admin.go what the operator alone sees, metrics.go what is counted, tracing.go where spans go, files.go where files lie, outgoing.go who is told about tasks and approvals, mesh.go how
// nodes find each other, unconnected_servers.go what those are told that do not, access.go who is let in and how the first person is,
// builtin.go which agents need no code, memory.go how much may pile up, demo.go
// what `beeos dev` adds, claim.go who has the data folder. What an operator does
// on the database, with no server running, is in operator_*.go. It is the only
// package that knows all the parts.
package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/notify"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/access/signin"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/internal/engine/budget"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/calltrace"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/series"
	"github.com/beeos/beeos/internal/engine/webhook"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/surface/a2a"
	"github.com/beeos/beeos/internal/surface/web/connect"
	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/internal/telemetry/trace"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/mail"
)

// CallRecord is one finished call.
type CallRecord = invoke.CallRecord

// Options is what a command adds to the configuration.
type Options struct {
	Log    *slog.Logger
	Demo   bool             // a user, keys and an agent to try things with
	Ready  func(Info)       // called once everything answers
	OnCall func(CallRecord) // called for every finished call

	// Bridges are the kinds of programs that the command line turns into
	// agents, for the console to tell about.
	Bridges []connect.Bridge

	// Now is the clock of sign-in: of people's sessions, and of grants and
	// their tokens. nil = time.Now; a test lets an hour pass with it.
	Now func() time.Time
}

// Info is where everything is. The keys and the agent are those of Demo.
type Info struct {
	DevFile
	Setup string // the first person's way in; "" once somebody has one. A secret
	Data  string

	SetupFile string // where Setup is kept for the operator; "" = nowhere

	Took time.Duration
}

// parts is everything that runs.
type parts struct {
	cfg       config.Config
	opt       Options
	surfaces  []surface
	log       *slog.Logger
	metrics   *telemetry.Metrics
	tracer    *trace.Tracer    // nil = nobody wants spans
	spans     *calltrace.Maker // nil = nobody wants spans
	series    *series.Collector
	node      string
	started   time.Time
	route     string // where other nodes mesh with this one; empty = nowhere
	apart     apart
	db        *store.Store
	bus       *bus.Bus
	ledger    *ledger.Ledger
	files     *files.Files // nil = nobody knows where the REST surface is
	calls     *invoke.Calls
	approvals *approval.Approvals
	acts      *act.Acts
	hooks     *webhook.Hooks
	notify    *notify.Notifier
	mail      *mail.Sender // nil = no mail is sent
	auth      *auth.Authenticator
	people    *signin.People
	oidc      *signin.OIDC // nil = no outside provider
	oauth     *oauth.Server
	builtins  *builtin.Supervisor // nil = built-in agents run elsewhere
	owned     act.Builtins        // what owners do to them, wherever they run
	peers     *a2a.Surface        // nil = A2A runs elsewhere
	server    *httpd.Server
	info      Info
	public    urls                          // what surfaces are called by everybody
	gateway   string                        // where agents inside this process connect; empty = nowhere
	certs     certificates                  // nil = none are ours
	demo      chan error                    // the demo agent's end
	run       []func(context.Context) error // background services
	closers   []func()                      // what takes down the parts that are up, lowest first

	doors      context.Context // ends when requests that still wait are to be told that this process stops
	closeDoors func()
}

// Run runs BeeOS until ctx ends. The data folder is ours and every port is
// open before anything else starts, so that what can go wrong for a newcomer
// goes wrong at once.
func Run(ctx context.Context, cfg config.Config, opt Options) error {
	start := time.Now()
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	p := &parts{cfg: cfg, opt: opt, log: opt.Log, metrics: telemetry.NewMetrics(), node: beeos.NewID(), started: start}
	p.doors, p.closeDoors = context.WithCancel(context.WithoutCancel(ctx))
	defer p.closeDoors()
	free, err := claim(cfg)
	if err != nil {
		return err
	}
	defer free()
	if err := p.listen(); err != nil {
		return err
	}
	defer func() {
		for _, closePart := range slices.Backward(p.closers) {
			closePart()
		}
	}()
	for _, step := range []func(context.Context) error{
		p.openTracer, p.openData, p.openFiles, p.openCalls, p.openAccess, p.openBuiltins, p.openHooks, p.openNotifications, p.openActs, p.openMetrics, p.openCertificates, p.mount,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, p.server.Close())
		}
	}
	return p.serve(ctx, start)
}

// openStore opens the database that a configuration names.
func openStore(ctx context.Context, cfg config.Config) (*store.Store, error) {
	dsn, err := DSN(cfg)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, dsn)
}

// openData brings up what everything stands on: the database, the bus, and the
// log of messages.
func (p *parts) openData(ctx context.Context) (err error) {
	if p.db, err = openStore(ctx, p.cfg); err != nil {
		return err
	}
	p.closers = append(p.closers, func() { p.db.Close() }, p.db.Watch(p.node, p.log))
	if p.bus, err = p.openBus(ctx); err != nil {
		return err
	}
	p.closers = append(p.closers, p.bus.Close)
	if err := p.openSpans(); err != nil {
		return err
	}
	p.series = series.Start(series.Options{Table: p.db.Calls, Keep: p.cfg.Retention, Log: p.log})
	p.closers = append(p.closers, p.series.Close)
	opt := p.countLedger()
	opt.Log, opt.Committed = p.log, invoke.Committed(p.bus)
	if p.ledger, err = ledger.Open(ctx, p.db.DB, opt); err != nil {
		return err
	}
	p.closers = append(p.closers, p.ledger.Close)
	return nil
}

// openCalls makes the call path, and what waits for people on it.
func (p *parts) openCalls(context.Context) error {
	p.approvals = approval.New(approval.Options{
		Table: p.db.Approvals, Agents: p.db.Agents, Tools: p.db.Builtins, People: p.db.People, Cluster: p.db.Cluster, Budgets: p.db.Budgets,
		Ledger: p.ledger, Bus: p.bus, Log: p.log, Now: p.db.Now, Web: p.public.Web, Keep: p.cfg.Retention,
	})
	p.calls = invoke.New(invoke.Options{
		Agents: p.db.Agents, Approvals: p.db.Approvals, Cluster: p.db.Cluster, Ledger: p.ledger, Bus: p.bus, Files: p.files, Log: p.log,
		Budgets: budget.New(budget.Options{Table: p.db.Budgets, Log: p.log, Ask: p.approvals.AskBudget}),
		Session: p.db.HasSession, Timeout: p.cfg.CallTimeout, RateLimit: p.cfg.RateLimit, OnCall: p.onCall,
		Tracer: p.tracer, OnTrace: httpd.NoteTrace,
	})
	p.run = append(p.run, tuneMemory, p.calls.Run, p.approvals.Run, p.keepNode, p.watchApart, func(ctx context.Context) error {
		return p.ledger.RunRetention(ctx, p.cfg.Retention)
	})
	return nil
}

// openActs makes what owners and admins do, and hears of what they ended or
// changed on other nodes.
func (p *parts) openActs(context.Context) error {
	p.acts = act.New(act.Options{
		DB: p.db, Ledger: p.ledger, Bus: p.bus, Invoke: p.calls, Approvals: p.approvals, Hooks: p.hooks, Notify: p.notify, Mail: p.mail, Web: p.public.Web, People: p.people, OAuth: p.oauth, Builtins: p.owned, Server: p.describeServer, Log: p.log,
	})
	p.bus.OnControl(func(c bus.Control) {
		switch c.Kind {
		case bus.KeyRevoked, bus.KeyChanged:
			p.forget(c.ID)
		}
	})
	return nil
}

// serve runs the listeners until ctx ends, calls have been answered and other nodes
// have what this one ran; the services until the listeners have drained.
func (p *parts) serve(ctx context.Context, start time.Time) error {
	services, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, services := errgroup.WithContext(services)
	for _, run := range p.run {
		group.Go(func() error { return run(services) })
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(services, cancel) // a service that fails ends everything
	group.Go(func() error {
		defer p.closeDoors()
		<-ctx.Done()
		p.drain(services)
		return nil
	})
	group.Go(func() error {
		defer stop()
		defer cancel()
		return p.server.Serve(p.doors)
	})
	group.Go(func() error {
		if err := p.prepare(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		p.info.Took = time.Since(start)
		if p.opt.Ready != nil && ctx.Err() == nil {
			p.opt.Ready(p.info)
		}
		return p.awaitDemo(ctx)
	})
	return group.Wait()
}

// DSN is the database that a configuration names.
func DSN(cfg config.Config) (string, error) {
	if cfg.DatabaseURL == "" {
		return "sqlite:" + filepath.Join(cfg.Data, "beeos.db") + "?durability=" + cfg.Durability, nil
	}
	u, err := url.Parse(cfg.DatabaseURL)
	if err != nil { // the error would repeat the URL, password and all
		return "", errors.New("DATABASE_URL is not a URL — write postgres://user:password@host:5432/database")
	}
	q := u.Query()
	q.Set("durability", cfg.Durability)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Logger returns the logger that the configuration asks for.
func Logger(w io.Writer, cfg config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	return telemetry.NewLogger(w, cfg.LogFormat, level)
}
