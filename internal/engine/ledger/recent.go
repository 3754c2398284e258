package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/beeos/beeos"
)

// RecentCall is one request to an agent, without what was said.
type RecentCall struct {
	Turn     string
	Channel  string
	AgentID  string
	Caller   string // a Caller.Principal
	Protocol string // mcp, rest, a2a, web
	Method   string // empty = a message
	Tool     string
	At       time.Time
	Outcome  beeos.MessageType // the terminal reply's; empty while the agent works
	Reason   string            // the terminal reply's stop reason
	Took     time.Duration     // 0 while the agent works
}

// RecentCalls returns the newest requests to these agents, newest first.
func (l *Ledger) RecentCalls(ctx context.Context, agents []string, limit int) ([]RecentCall, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	requests, err := l.Requests(ctx, RequestFilter{AgentIDs: agents, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("read recent requests: %w", err)
	}
	list := make([]RecentCall, len(requests))
	for i := range requests {
		list[i] = summarize(&requests[i])
	}
	return list, nil
}

func summarize(q *Request) RecentCall {
	r := RecentCall{Turn: q.ID, Channel: q.Channel, AgentID: q.AgentID, Caller: q.Publisher, At: q.CreatedAt}
	r.Protocol, r.Method, r.Tool = readCallHead(q.Payload)
	if q.Done != nil {
		r.Outcome, r.Reason, r.Took = q.Done.Type, string(q.Done.StopReason), q.Done.CreatedAt.Sub(q.CreatedAt)
	}
	return r
}

// readCallHead reads the first members of a Call, and not its arguments, which may
// be a megabyte.
func readCallHead(payload []byte) (protocol, method, tool string) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", "", ""
	}
	for {
		name, err := dec.Token()
		if err != nil {
			return protocol, method, tool
		}
		value, err := dec.Token()
		s, ok := value.(string)
		if err != nil || !ok {
			return protocol, method, tool // arguments, or the end
		}
		switch name {
		case "protocol":
			protocol = s
		case "method":
			method = s
		case "tool":
			tool = s
		}
	}
}
