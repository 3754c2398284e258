package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// client is the client behind one HTTP request: who it is and which agent it
// calls, what it speaks and can be asked, and where its answers go.
type client struct {
	runner        *runner
	r             *http.Request
	caller        beeos.Caller
	endpointAgent string       // the agent whose endpoint it is; empty = that of all
	agent         *beeos.Agent // who is called
	lists         *lists
	version       version
	meta          requestMeta
	can           capability // what the client can be asked
	session       *session   // nil without one
	oldTransport  bool       // over the transport of 2024-11-05
	logs          *int       // the lowest level to tell; nil = not known yet
	out           *responder
}

// sendResult sends the result of a request, and an end to what was said on the
// way.
func (x *client) sendResult(m *message, result []byte) {
	head, body := frameResult(x.version, m, x.lists.serverInfo, result)
	x.out.sendAnswer(http.StatusOK, head, body, []byte{'}'})
}

// reach returns an agent that the caller may call at this endpoint.
func (x *client) reach(ctx context.Context, agentID string) (*beeos.Agent, error) {
	if x.endpointAgent == agentID {
		return x.agent, nil
	}
	e, err := x.runner.Catalog.agent(ctx, agentID)
	if err == nil && (x.endpointAgent != "" || !x.caller.MayReach(e.agent) || !e.agent.MCPEnabled) {
		err = beeos.Errorf(beeos.AgentNotFound, "no agent %s is known to this credential", agentID)
	}
	if err != nil {
		return nil, err
	}
	return e.agent, nil
}

// wantsLogs reports whether the client wants to hear log messages at all. In
// a session it does; a stateless request must say so.
func (x *client) wantsLogs() bool {
	return x.out.acceptsStream && (x.session != nil || x.version.stateless() && x.meta.level != nil)
}

// logsFrom is the lowest level that the client wants to hear. A session's is
// looked up once per request, and only when there is something to log.
func (x *client) logsFrom(ctx context.Context) int {
	if x.logs == nil {
		name, _ := httpd.StringValue(x.meta.level)
		if x.session != nil {
			var err error
			if name, err = x.runner.DB.SessionLevel(ctx, x.session.channel); err != nil {
				x.runner.Log.WarnContext(ctx, "log level of a session", "err", err)
			}
		}
		from := slices.Index(logLevels, name)
		x.logs = &from
	}
	return *x.logs
}

// toolResult is a terminal reply as the result of a tool at this endpoint.
func (x *client) toolResult(m *beeos.Message) ([]byte, error) {
	result, err := toolResult(m)
	if e := x.lists.memberByAgent[strings.TrimPrefix(m.Publisher, "agent:")]; e != nil && err == nil {
		result = e.toUnion(result, "")
	}
	return result, err
}

// toolOutcome is what a client gets for the call of a tool.
func (x *client) toolOutcome(o *outcome) ([]byte, error) {
	if o.reply == nil {
		return o.earlyResult, o.err
	}
	if err := agentError(o.reply, x.version); err != nil {
		return nil, err
	}
	return x.toolResult(o.reply)
}
