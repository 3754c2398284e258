package call

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Client is the client behind one HTTP request: who it is and which agent it
// calls, what it speaks and can be asked, and where its answers go.
type Client struct {
	Runner        *Runner
	HTTP          *http.Request
	Caller        beeos.Caller
	EndpointAgent string       // the agent whose endpoint it is; empty = that of all
	Agent         *beeos.Agent // who is called
	Lists         *catalog.Lists
	Version       wire.Version
	Meta          wire.Meta
	Can           wire.Capability   // what the client can be asked
	Session       *sessions.Session // nil without one
	OldTransport  bool              // over the transport of 2024-11-05
	logs          *int              // the lowest level to tell; nil = not known yet
	Out           *wire.Responder
	ToolFailed    bool // the last tools/call has a result that says so
}

// SendResult sends the result of a request, and an end to what was said on the
// way.
func (x *Client) SendResult(m *wire.Message, result []byte) {
	head, body := wire.FrameResult(x.Version, m, x.Lists.ServerInfo, result)
	x.Out.SendAnswer(http.StatusOK, head, body, []byte{'}'})
}

// findReachable returns an agent that the caller may call at this endpoint.
func (x *Client) findReachable(ctx context.Context, agentID string) (*beeos.Agent, error) {
	if x.EndpointAgent == agentID {
		return x.Agent, nil
	}
	e, err := x.Runner.Catalog.Agent(ctx, agentID)
	if err == nil && (x.EndpointAgent != "" || !x.Caller.MayReach(e.Agent) || !e.Agent.MCPEnabled) {
		err = beeos.Errorf(beeos.AgentNotFound, "no agent %s is known to this credential", agentID)
	}
	if err != nil {
		return nil, err
	}
	return e.Agent, nil
}

// WithMetaTrace is ctx at the place in a trace that the request names in its _meta:
// that counts more than the one in its headers, which may be a proxy's.
func (x *Client) WithMetaTrace(ctx context.Context) context.Context {
	t := x.Meta.Trace()
	if t.IsZero() {
		return ctx
	}
	return telemetry.With(beeos.WithTrace(ctx, t), "trace", t.ID())
}

// describeEntry says in the request what the trace is told of the client's.
func (c *activeCall) describeEntry() {
	e := &c.req.Entry
	e.Method, e.RPCID = c.m.Method, c.m.ID
	if e.Method == "prompts/get" {
		e.Target, _ = strictjson.StringField(c.m.Params, "name")
	}
	if c.x.Meta.TraceParent != nil {
		e.Link = beeos.TraceOf(c.x.HTTP.Context())
	}
}

// wantsLogs reports whether the client wants to hear log messages at all. In
// a session it does; a stateless request must say so.
func (x *Client) wantsLogs() bool {
	return x.Out.AcceptsStream && (x.Session != nil || x.Version.Stateless() && x.Meta.Level != nil)
}

// logsFrom is the lowest level that the client wants to hear. A session's is
// looked up once per request, and only when there is something to log.
func (x *Client) logsFrom(ctx context.Context) int {
	if x.logs == nil {
		name, _ := strictjson.StringValue(x.Meta.Level)
		if x.Session != nil {
			var err error
			if name, err = x.Runner.Sessions.GetLevel(ctx, x.Session.Channel); err != nil {
				x.Runner.Log.WarnContext(ctx, "log level of a session", "err", err)
			}
		}
		from := slices.Index(wire.LogLevels, name)
		x.logs = &from
	}
	return *x.logs
}

// toolResult is a terminal reply as the result of a tool at this endpoint.
func (x *Client) toolResult(m *beeos.Message) ([]byte, error) {
	result, err := replies.ToolResult(m)
	if e := x.Lists.MemberByAgent[strings.TrimPrefix(m.Publisher, "agent:")]; e != nil && err == nil {
		result = e.ToUnion(result, "")
	}
	return result, err
}

// toolOutcome is what a client gets for the call of a tool.
func (x *Client) toolOutcome(o *Outcome) ([]byte, error) {
	if o.Reply == nil {
		return o.EarlyResult, o.Err
	}
	x.ToolFailed = o.Reply.IsError()
	if err := replies.AgentError(o.Reply, x.Version); err != nil {
		return nil, err
	}
	return x.toolResult(o.Reply)
}
