package skill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/wire/outbound"
)

const (
	connectWithin = 20 * time.Second
	downFor       = 5 * time.Second // how long one failure answers for all
	listedFor     = 5 * time.Minute // a server need not say that its list changed
	freshFor      = time.Second     // what counts as just listed
	stopWithin    = 2 * time.Second // a command, before it is told more clearly
	maxMessage    = 16 << 20        // bytes of one message of a server
)

// Options are what a Client needs.
type Options struct {
	Server  Server
	HTTP    http.RoundTripper                                                    // of package outbound, and with tokens where there are any
	Command []string                                                             // what Server.Command stands for
	Local   Local                                                                // instead of both, for a server in this process
	Elicit  func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) // nil = nobody is asked

	Builtins  *builtins.Table // where tools are pinned; nil = nowhere
	BuiltinID string

	Log *slog.Logger
	Now func() time.Time
}

// Client is one session with a skill server, kept for as long as it works and
// shared by every conversation of its agent.
type Client struct {
	opt    Options
	client *mcp.Client
	turn   chan struct{} // taken by who connects or lists

	mu       sync.Mutex
	session  *mcp.ClientSession
	tools    []Tool
	listedAt time.Time
	stale    bool
	closed   bool
	held     int
	failed   error // why the last try failed
	failedAt time.Time
}

// New returns a client that has not connected yet.
func New(opt Options) *Client {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	c := &Client{opt: opt, turn: make(chan struct{}, 1)}
	// Nothing about the person, the caller or this machine is offered to a
	// skill server: no roots, no sampling.
	c.client = mcp.NewClient(&mcp.Implementation{Name: "beeos", Version: beeos.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, ElicitationHandler: opt.Elicit,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.Refresh() },
	})
	return c
}

// Refresh forgets the list of tools, so that the next turn asks for it, and
// what failed before.
func (c *Client) Refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale, c.failed = true, nil
}

// Close ends the session. There is no other after it.
func (c *Client) Close() error {
	c.mu.Lock()
	session := c.session
	c.session, c.closed = nil, true
	c.mu.Unlock()
	if session == nil {
		return nil
	}
	return session.Close()
}

// Session returns the session, connecting if there is none.
func (c *Client) Session(ctx context.Context) (*mcp.ClientSession, error) {
	if s, err := c.current(); s != nil || err != nil {
		return s, err
	}
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	return c.connect(ctx)
}

// connect opens the session. c.turn is held.
func (c *Client) connect(ctx context.Context) (*mcp.ClientSession, error) {
	if s, err := c.current(); s != nil || err != nil {
		return s, err // somebody else did, or failed to, meanwhile
	}
	timed, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	timed, f := c.follow(timed)
	transport, err := c.transport()
	var session *mcp.ClientSession
	if err == nil {
		session, err = c.client.Connect(timed, transport, nil)
	}
	if err == nil && !c.adopt(session) {
		_ = session.Close() // nobody else would
		return nil, errClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.discreet(err); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx) // who asked gave up: that says nothing about the server
		}
		c.failed, c.failedAt = c.explain(f, err), c.opt.Now()
		c.opt.Log.Warn("a skill server cannot be reached", "skill", c.opt.Server.Name, "err", err)
		return nil, c.failed
	}
	return session, nil
}

// adopt makes a session the one that is used, unless the client was closed
// while it came about.
func (c *Client) adopt(session *mcp.ClientSession) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.session, c.failed, c.stale = session, nil, true
	}
	return !c.closed
}

func (c *Client) transport() (mcp.Transport, error) {
	switch {
	case c.opt.Local != nil:
		return c.opt.Local()
	case len(c.opt.Command) > 0:
		cmd := exec.Command(c.opt.Command[0], c.opt.Command[1:]...) //nolint:gosec // from the admin's configuration alone
		cmd.Env = commandEnv()
		return &mcp.CommandTransport{Command: cmd, TerminateDuration: stopWithin}, nil
	}
	client := outbound.ClientOver(c.opt.HTTP, outbound.Options{MaxBody: maxMessage})
	client.Transport = watched{client.Transport}
	return &mcp.StreamableClientTransport{Endpoint: c.opt.Server.URL, HTTPClient: client, MaxEventSize: maxMessage}, nil
}

// explain says what to do about a server that cannot be reached. What the
// owner has to do is said in the error already.
func (c *Client) explain(f *fate, err error) error {
	var told *beeos.Error
	if errors.As(err, &told) {
		return told
	}
	if cut := f.cutOff(); cut != nil {
		return beeos.Wrap(beeos.AgentServiceUnavailable, c.discreet(err), fmt.Sprintf("the skill server %s cannot be used: %v", c.opt.Server.Name, cut))
	}
	return beeos.Wrap(beeos.AgentServiceUnavailable, c.discreet(err), fmt.Sprintf("the skill server %s cannot be reached; check that it runs and that its address is right", c.opt.Server.Name))
}

// discreet is err without the query of the server's address: people put keys
// there, and what goes wrong is told to models and logs.
func (c *Client) discreet(err error) error {
	u, bad := url.Parse(c.opt.Server.URL)
	if err == nil || bad != nil || u.RawQuery == "" {
		return err
	}
	return &untold{err, strings.ReplaceAll(err.Error(), "?"+u.RawQuery, "?…")}
}

// untold is an error with other words.
type untold struct {
	err  error
	text string
}

func (e *untold) Error() string { return e.text }
func (e *untold) Unwrap() error { return e.err }

var errClosed = beeos.Errorf(beeos.AgentServiceUnavailable, "the agent is being restarted; try again in a moment")

// current is the session, or the failure that is still fresh.
func (c *Client) current() (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.session == nil && c.failed != nil && c.opt.Now().Sub(c.failedAt) < downFor {
		return nil, c.failed
	}
	return c.session, nil
}

// drop forgets a session that has broken.
func (c *Client) drop(broken *mcp.ClientSession) {
	c.mu.Lock()
	mine := c.session == broken
	if mine {
		c.session = nil
	}
	c.mu.Unlock()
	if mine {
		_ = broken.Close() // it is of no use any more
	}
}

func (c *Client) lock(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) unlock() { <-c.turn }

// Health is how a skill server does.
type Health struct {
	Connected bool
	Tools     int // offered to the model
	Held      int // held back
	ListedAt  time.Time
	Trouble   string // why the last try failed; empty = it did not
}

// Health returns how the server did when it was last needed.
func (c *Client) Health() Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := Health{Connected: c.session != nil, Tools: len(c.tools), Held: c.held, ListedAt: c.listedAt}
	if c.failed != nil {
		h.Trouble = c.failed.Error()
	}
	return h
}
