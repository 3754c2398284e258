// Package builtin runs built-in agents: a model, a prompt and skill servers
// make one, no code. Each is an agent like any other, made with the agent SDK,
// that connects to the agent gateway.
//
// definition.go is what an owner says about one and how that is kept, offer.go what
// callers are offered of it, servers.go
// reads what a request says about skills, and deploy.go makes, changes and ends
// agents. supervisor.go runs those that are this node's (claim.go), each as a
// builtin (builtin.go); nodes.go knows who else runs some, and whose is which.
// A process that runs none has a Remote (remote.go), whose acts are done by one
// that does (acts.go). An answer is package answer's business. What the owner does about skill
// servers is in skills.go, such as accepting a changed tool, and for protected
// ones in consent.go; check_skills.go asks them how they do. vault.go keeps what those
// were given, sealed.
package builtin

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/wire/seal"
)

// lookEvery is how often definitions are read again, in case that the news of a
// change were lost.
const lookEvery = 3 * time.Second

// What was done for a request is kept for a day, so that its owner can fork it.
// After twice the time that a request may take nobody is at work on it any more,
// and what belongs to no stored answer goes.
const (
	forgetEvery        = 10 * time.Minute
	forgetDeletedAfter = 2 * time.Hour
)

// lastWord is how much longer a caller waits than an answer may take, so that
// it hears why there is no more.
const lastWord = 15 * time.Second

// Assertion is a file with a token of this machine's or of a person's, and who
// may read it: authorization servers by their issuer, identity providers by
// their token endpoint. Owners say which skill uses it, so they must not be the
// ones who say where it is sent.
type Assertion struct {
	File string   `json:"file"`
	For  []string `json:"for"`
}

// Options are what built-in agents stand on.
type Options struct {
	Agents   *agents.Table
	Builtins *builtins.Table
	Cluster  *cluster.Table

	Model   llm.Model         // nil = none is configured, and every answer says so
	Gateway string            // of agents
	Folder  string            // for identities
	HTTP    http.RoundTripper // of package outbound, and guarded
	Plain   bool              // skill servers may be reached by http://, in development
	Console string            // URL of the console, where owners consent

	// MaxTokens is the most that one answer may use, whatever its owner says; 0 =
	// the most that anybody may say.
	MaxTokens int

	// Commands are the local skill servers that the admin allowed, by name.
	Commands map[string][]string
	// Assertions are the tokens in files that the admin allowed, by name.
	Assertions map[string]Assertion
	// Local are skill servers inside this process, by the name of a command.
	Local map[string]skill.Local

	// Approve asks the owner about a tool call; nil means yes. Without it only
	// skills that need no approval can be used.
	Approve func(ctx context.Context, r *agent.Reply, a answer.Approval) error

	// Node is this one's name among those that run built-in agents; one of them
	// runs each. Alive says whether another one is on the bus, and fails while the
	// bus carries nothing; nil = there is no bus. Leave takes back that this one is.
	Node  string
	Alive func(ctx context.Context, node string) (bool, error)
	Leave func()
	// Tell passes news on to every node, this one included, whose supervisor then
	// should Hear them; nil = there is no other.
	Tell func(News)

	Log *slog.Logger
	Now func() time.Time
}

// News is that a built-in agent has changed, or only what one of its skills was
// given or is allowed; or that a node is about to leave.
type News struct {
	ID      string `json:"id"`
	Skill   string `json:"skill,omitempty"`
	Leaving string `json:"leaving,omitempty"`
}

// Supervisor runs built-in agents.
type Supervisor struct {
	opt    Options
	sealer *seal.Sealer
	wake   chan struct{}

	reading *semaphore.Weighted // taken by who reads a conversation

	nodes      *nodes // Run's
	empty      chan struct{}
	handedOver func() // closes empty

	mu      sync.Mutex
	running map[string]*builtin // by id
	serving int                 // those, and others that finish what they have
}

// New returns a supervisor that runs nothing yet.
func New(ctx context.Context, opt Options) (*Supervisor, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	opt.Node = cmp.Or(opt.Node, beeos.NewID())
	key, err := opt.Cluster.Secret(ctx, builtins.SealedWith, seal.NewKey)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(key)
	if err != nil {
		return nil, err
	}
	empty := make(chan struct{})
	return &Supervisor{
		opt: opt, sealer: sealer, wake: make(chan struct{}, 1), reading: semaphore.NewWeighted(answer.MaxReading),
		nodes: newNodes(), empty: empty, handedOver: sync.OnceFunc(func() { close(empty) }), running: map[string]*builtin{},
	}, nil
}

// Run runs the built-in agents that are this node's until ctx ends.
func (rt *Supervisor) Run(ctx context.Context) error {
	var group errgroup.Group // an agent that ends is not the end of the others
	defer group.Wait()       //nolint:errcheck // they report to the log
	defer rt.releaseAgents(ctx)
	defer rt.handedOver()
	watch, forget := time.NewTicker(watchEvery), time.NewTicker(forgetEvery)
	defer watch.Stop()
	defer forget.Stop()
	rt.lookForNodes(ctx)
	for looked, look := time.Now(), true; ; {
		if look {
			looked, look = time.Now(), false
			if err := rt.reconcile(ctx, &group); err != nil && ctx.Err() == nil {
				rt.opt.Log.Error("the built-in agents cannot be read", "err", err)
				if rt.nodes.isLeaving(rt.opt.Node) {
					rt.handedOver() // nobody else can read them either
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-rt.wake:
			if look = true; rt.nodes.isLeaving(rt.opt.Node) {
				rt.lookForNodes(ctx) // one that has just come can take over, too
			}
		case <-watch.C:
			look = rt.lookForNodes(ctx) || time.Since(looked) >= lookEvery
		case <-forget.C:
			now := rt.opt.Now()
			if err := rt.opt.Builtins.ForgetSteps(ctx, now.Add(-answer.StepsKept), now.Add(-forgetDeletedAfter)); err != nil && ctx.Err() == nil {
				rt.opt.Log.Error("what built-in agents did is not forgotten", "err", err)
			}
		}
	}
}

// lookForNodes is watchNodes, within the time that there is for it.
func (rt *Supervisor) lookForNodes(ctx context.Context) (changed bool) {
	err := database.Within(ctx, func(ctx context.Context) (err error) {
		changed, err = rt.watchNodes(ctx)
		return err
	})
	if err != nil && ctx.Err() == nil && !rt.nodes.unknown {
		rt.opt.Log.Warn("who else runs built-in agents cannot be found out; theirs are left alone", "err", err)
	}
	rt.nodes.unknown = err != nil
	return changed
}

// Hear takes news of any node's.
func (rt *Supervisor) Hear(n News) {
	if n.Skill != "" {
		rt.refreshSkillHere(n.ID, n.Skill)
		return
	}
	if n.Leaving != "" {
		rt.nodes.noteLeaving(n.Leaving)
	}
	rt.mu.Lock()
	if b := rt.running[n.ID]; b != nil {
		b.noteChange()
	}
	rt.mu.Unlock()
	rt.look()
}

// look has Run look at all agents now.
func (rt *Supervisor) look() {
	select {
	case rt.wake <- struct{}{}:
	default: // it is about to
	}
}

// tellNodes says what has changed to every node.
func (rt *Supervisor) tellNodes(n News) {
	if rt.opt.Tell != nil {
		rt.opt.Tell(n)
		return
	}
	rt.Hear(n)
}

// reconcile starts what should run here and does not, and stops the rest.
func (rt *Supervisor) reconcile(ctx context.Context, group *errgroup.Group) error {
	var want map[string]share
	err := database.Within(ctx, func(ctx context.Context) error {
		list, err := rt.opt.Builtins.List(ctx, "")
		if err == nil {
			want, err = rt.claimAgents(ctx, list)
		}
		return err
	})
	if err != nil {
		return err
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for id, b := range rt.running {
		if _, ok := want[id]; !ok {
			b.stop()
			delete(rt.running, id)
		}
	}
	for id, row := range want {
		old := rt.running[id]
		if old != nil && old.row.UpdatedAt.Equal(row.UpdatedAt) {
			continue
		}
		b, err := rt.prepareAgent(ctx, row.Builtin)
		if err != nil {
			rt.opt.Log.Error("a built-in agent cannot be started", "agent", row.Name, "err", err)
			if old != nil { // it is no longer what its owner wants
				old.stop()
				delete(rt.running, id)
			}
			continue
		}
		if b.from = row.from; old != nil {
			b.relieves = old.stop
		}
		rt.running[id] = b
		rt.serving++
		group.Go(func() error {
			rt.serveAgent(b)
			return nil
		})
	}
	return nil
}

// serveAgent runs one agent until it is told to stop.
func (rt *Supervisor) serveAgent(b *builtin) {
	defer b.stop()
	var beside sync.WaitGroup
	if b.offersTools() {
		beside.Go(b.keepOffers)
	}
	if b.from != "" {
		beside.Go(func() { rt.takeOver(b) })
	}
	err := b.agent.Run(b.ctx)
	b.stop()
	beside.Wait()
	b.relieves() // it was to
	for _, s := range b.skills {
		rt.leaveSkill(s)
	}
	if err != nil {
		rt.opt.Log.Error("a built-in agent has ended; it is tried again", "agent", b.row.Name, "err", err)
	}
	rt.mu.Lock()
	if rt.serving--; rt.running[b.row.ID] == b {
		delete(rt.running, b.row.ID)
	}
	rt.mu.Unlock()
	if rt.nodes.isLeaving(rt.opt.Node) {
		rt.look()
	}
}
