// Package runtime runs built-in agents: a model, a prompt and skill servers
// make one, no code. Each is an agent like any other, made with the agent SDK,
// that connects to the agent gateway.
//
// definition.go is what an owner says about one and how that is kept, and
// deploy.go makes, changes and ends them. runtime.go runs those that there are.
// An answer is a loop between the model and its tools (loop.go, tools.go) over
// the conversation so far (history.go), within limits (limits.go). What the
// owner does about skill servers is in skills.go, such as accepting a changed
// tool, and for protected ones in consent.go; look.go asks them how they do. vault.go keeps what those were
// given, sealed (seal.go).
package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/llm"
	"github.com/beeos/beeos/internal/protected"
	"github.com/beeos/beeos/internal/skill"
	"github.com/beeos/beeos/internal/store"
)

// lookEvery is how often definitions are read again: another node may have
// changed them. Those that this one changes are acted upon at once.
const lookEvery = 5 * time.Second

// lastWord is how much longer a caller waits than an answer may take, so that
// it hears why there is no more.
const lastWord = 15 * time.Second

// Options are what built-in agents stand on.
type Options struct {
	DB      *store.DB
	Model   llm.Model         // nil = none is configured, and every answer says so
	Gateway string            // of agents
	Folder  string            // for identities
	HTTP    http.RoundTripper // guarded; see protected.Guard
	Plain   bool              // skill servers may be reached by http://, in development
	Console string            // URL of the console, where owners consent

	// Commands are the local skill servers that the admin allowed, by name.
	Commands map[string][]string
	// Assertions are files with a token of this machine's or of a person's that
	// the admin allowed, by name.
	Assertions map[string]string
	// Local are skill servers inside this process, by the name of a command.
	Local map[string]skill.Local

	// Approve asks the owner about a tool call; nil means yes. Without it only
	// skills that need no approval can be used.
	Approve func(ctx context.Context, r *agent.Reply, a Approval) error

	Log *slog.Logger
	Now func() time.Time
}

// Approval is a tool call that is about to be made.
type Approval struct {
	Skill, Tool string
	Arguments   json.RawMessage
	Auto        bool // the skill's owner said that it need not be asked about
}

// Runtime runs built-in agents.
type Runtime struct {
	opt  Options
	seal *seal
	wake chan struct{}

	reading chan struct{} // taken by who reads a conversation

	mu      sync.Mutex
	running map[string]*builtin // by id
}

// New returns a runtime that runs nothing yet.
func New(ctx context.Context, opt Options) (*Runtime, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s, err := openSeal(ctx, opt.DB)
	if err != nil {
		return nil, err
	}
	return &Runtime{opt: opt, seal: s, wake: make(chan struct{}, 1), reading: make(chan struct{}, mostReading), running: map[string]*builtin{}}, nil
}

// Run runs every built-in agent until ctx ends.
func (rt *Runtime) Run(ctx context.Context) error {
	var group errgroup.Group // an agent that ends is not the end of the others
	defer group.Wait()       //nolint:errcheck // they report to the log
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := rt.reconcile(ctx, &group); err != nil && ctx.Err() == nil {
			rt.opt.Log.Error("the built-in agents cannot be read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rt.wake:
		case <-ticker.C:
		}
	}
}

// changed makes Run look now.
func (rt *Runtime) changed() {
	select {
	case rt.wake <- struct{}{}:
	default: // it is about to
	}
}

// reconcile starts what should run and does not, and stops the rest.
func (rt *Runtime) reconcile(ctx context.Context, group *errgroup.Group) error {
	list, err := rt.opt.DB.Builtins(ctx, "")
	if err != nil {
		return err
	}
	want := map[string]store.Builtin{}
	for _, row := range list {
		if !row.Stopped {
			want[row.ID] = row
		}
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for id, b := range rt.running {
		if row, ok := want[id]; !ok || !row.UpdatedAt.Equal(b.row.UpdatedAt) {
			b.stop()
		} else {
			delete(want, id)
		}
	}
	for id, row := range want {
		if rt.running[id] != nil {
			continue // it is on its way out, and comes back then
		}
		b, err := rt.prepare(row)
		if err != nil {
			rt.opt.Log.Error("a built-in agent cannot be started", "agent", row.Name, "err", err)
			continue
		}
		rt.running[id] = b
		group.Go(func() error {
			rt.serve(ctx, b)
			return nil
		})
	}
	return nil
}

// serve runs one agent until it is told to stop.
func (rt *Runtime) serve(ctx context.Context, b *builtin) {
	ctx, b.cancel = context.WithCancel(ctx)
	defer b.cancel()
	close(b.begun)
	err := b.agent.Run(ctx)
	b.close()
	if err != nil {
		rt.opt.Log.Error("a built-in agent has ended; it is tried again", "agent", b.row.Name, "err", err)
	}
	rt.mu.Lock()
	delete(rt.running, b.row.ID)
	rt.mu.Unlock()
	if err == nil {
		rt.changed() // it may have to start anew
	}
}

// builtin is one agent that runs.
type builtin struct {
	rt     *Runtime
	row    store.Builtin
	def    Definition
	agent  *agent.Agent
	skills []*connected

	begun  chan struct{} // closed once cancel is set
	cancel context.CancelFunc
}

// connected is a skill with its client.
type connected struct {
	skill.Server
	*skill.Client
	transport *protected.Transport // nil = a server on this machine
}

// prepare makes an agent of a definition. Nothing is connected yet.
func (rt *Runtime) prepare(row store.Builtin) (*builtin, error) {
	b := &builtin{rt: rt, row: row, begun: make(chan struct{})}
	secret, err := rt.open(row, &b.def)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(rt.opt.Folder, row.ID+".json")
	if err := agent.WriteIdentity(file, rt.opt.Gateway, row.ID, secret.key()); err != nil {
		return nil, err
	}
	for _, s := range b.def.Servers {
		c, err := rt.connect(row, s, secret.Skills[s.Name])
		if err != nil {
			return nil, fmt.Errorf("skill %s: %w", s.Name, err)
		}
		b.skills = append(b.skills, c)
	}
	b.agent, err = agent.New(agent.Options{
		Name: row.Name, DisplayName: b.def.DisplayName, Description: b.def.Description, Model: b.def.Model,
		Timeout: b.def.Limits.Wall + lastWord, Gateway: rt.opt.Gateway, Identity: file, Log: rt.opt.Log,
	}, b.answer)
	return b, err
}

// connect returns one skill of a built-in agent, with a client that has not
// connected yet.
func (rt *Runtime) connect(row store.Builtin, s skill.Server, secrets skill.Secrets) (*connected, error) {
	c := &connected{Server: s}
	opt := skill.Options{
		Server: s, Command: rt.opt.Commands[s.Command], Local: rt.opt.Local[s.Command],
		DB: rt.opt.DB, BuiltinID: row.ID, Log: rt.opt.Log.With("agent", row.Name), Now: rt.opt.Now,
	}
	if s.URL != "" {
		var err error
		if c.transport, err = rt.transport(row, s, secrets); err != nil {
			return nil, err
		}
		opt.HTTP = c.transport
	}
	c.Client = skill.New(opt)
	return c, nil
}

// stop ends the agent; it may take a while to finish its answers.
func (b *builtin) stop() {
	select {
	case <-b.begun:
		b.cancel()
	default: // not begun: the next look finds it running
	}
}

func (b *builtin) close() {
	for _, s := range b.skills {
		if err := s.Close(); err != nil {
			b.rt.opt.Log.Debug("a skill server was not left in order", "skill", s.Name, "err", err)
		}
	}
}
