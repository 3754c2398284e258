package skill

import (
	"cmp"
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
	"golang.org/x/sync/semaphore"

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
	maxMessage    = 4 << 20         // bytes of one message of a server: no model reads more
)

// Options are what a Client needs.
type Options struct {
	Server  Server
	HTTP    http.RoundTripper                                                    // of package outbound, and with tokens where there are any
	Command []string                                                             // what Server.Command stands for
	Local   Local                                                                // instead of both, for a server in this process
	Elicit  func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) // nil = nobody is asked

	// Changed is called when the list of tools has changed, or may have; it must
	// not block. nil = nobody wants to know.
	Changed func()

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
	turn   *semaphore.Weighted // taken by who connects or lists

	mu       sync.Mutex
	session  *mcp.ClientSession
	tools    []Tool
	leftOut  []string
	listedAt time.Time
	stale    bool
	closed   bool
	failed   error // why the last try failed
	failedAt time.Time
}

// New returns a client that has not connected yet.
func New(opt Options) *Client {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	c := &Client{opt: opt, turn: semaphore.NewWeighted(1)}
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
	c.stale, c.failed = true, nil
	c.mu.Unlock()
	c.tellChanged()
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
	if s, err := c.currentSession(); s != nil || err != nil {
		return s, err
	}
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer c.turn.Release(1)
	return c.connect(ctx)
}

// connect opens the session. c.turn is held.
func (c *Client) connect(ctx context.Context) (*mcp.ClientSession, error) {
	if s, err := c.currentSession(); s != nil || err != nil {
		return s, err // somebody else did, or failed to, meanwhile
	}
	timed, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	timed, f := c.followCall(timed)
	transport, err := c.newTransport()
	var session *mcp.ClientSession
	if err == nil {
		session, err = c.client.Connect(timed, transport, nil)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx) // who asked gave up: that says nothing about the server
	case err != nil:
		c.opt.Log.Warn("a skill server cannot be reached", "skill", c.opt.Server.Name, "err", c.hideQuery(err))
		return nil, c.rememberFailure(f, err)
	case !c.adoptSession(session):
		_ = session.Close() // nobody else would
		return nil, errClosed
	}
	return session, nil
}

// adoptSession makes a session the one that is used, unless the client was closed
// while it came about.
func (c *Client) adoptSession(session *mcp.ClientSession) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.session, c.failed, c.stale = session, nil, true
	}
	return !c.closed
}

func (c *Client) newTransport() (mcp.Transport, error) {
	switch {
	case c.opt.Local != nil:
		return c.opt.Local()
	case len(c.opt.Command) > 0:
		cmd := exec.Command(c.opt.Command[0], c.opt.Command[1:]...) //nolint:gosec // from the admin's configuration alone
		cmd.Env = commandEnv()
		return &mcp.CommandTransport{Command: cmd, TerminateDuration: stopWithin}, nil
	}
	client := outbound.ClientOver(c.opt.HTTP, outbound.Options{MaxBody: maxMessage})
	client.Transport = watchedTransport{client.Transport}
	return &mcp.StreamableClientTransport{Endpoint: c.opt.Server.URL, HTTPClient: client, MaxEventSize: maxMessage}, nil
}

// explainFailure says what to do about a server that cannot be reached. What the
// owner has to do is said in the error already.
func (c *Client) explainFailure(f *fate, err error) error {
	if told, ok := errors.AsType[*beeos.Error](err); ok {
		return told
	}
	why := "cannot be reached; check that it runs and that its address is right"
	if cut := f.cutOff(); cut != nil {
		why = fmt.Sprintf("cannot be used: %v", cut)
	}
	return beeos.Wrap(beeos.AgentServiceUnavailable, c.hideQuery(err), fmt.Sprintf("the skill server %s %s", c.opt.Server.Name, why))
}

// hideQuery returns err without the query of the server's address: people put keys
// there, and what goes wrong is told to models and logs.
func (c *Client) hideQuery(err error) error {
	u, bad := url.Parse(c.opt.Server.URL)
	if err == nil || bad != nil || u.RawQuery == "" {
		return err
	}
	return &discreetError{err, strings.ReplaceAll(err.Error(), "?"+u.RawQuery, "?…")}
}

// discreetError is an error with other words.
type discreetError struct {
	err  error
	text string
}

func (e *discreetError) Error() string { return e.text }
func (e *discreetError) Unwrap() error { return e.err }

var errClosed = beeos.Errorf(beeos.AgentServiceUnavailable, "the agent is being restarted; try again in a moment")

// currentSession returns the session, or the failure that is still fresh.
func (c *Client) currentSession() (*mcp.ClientSession, error) {
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

// dropSession forgets a session that has broken.
func (c *Client) dropSession(broken *mcp.ClientSession) {
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
