package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/beeos/beeos"
)

// Message is what a caller asks of the agent.
type Message struct {
	ID      string
	Offset  int64  // where it stands in the channel
	Channel string // one conversation; History reads it
	From    string // who published it: "user:<id>" or "key:<id>"
	Text    string
	Parts   json.RawMessage // what came besides the text, as the caller wrote it

	Method    string          // empty = talk to the agent; tools/call, resources/read, prompts/get, completion/complete
	Tool      string          // with tools/call: which
	Arguments json.RawMessage // with tools/call and prompts/get
	Params    json.RawMessage // with the other methods

	Model       string       // which the caller chose; empty = the agent's own
	Trial       *beeos.Trial // for built-in agents: what their owner tries in place of their settings
	Protocol    string       // mcp, a2a, rest or web; replay for a call that somebody makes again
	Revision    string       // of MCP, as the caller speaks it; empty = none, or another protocol
	Metadata    map[string]string
	Attachments []Attachment

	Input map[string]json.RawMessage // answers to the questions of NeedInput
	State string                     // what NeedInput was given

	Attempt  int       // 1, and more when an earlier instance died over it
	Deadline time.Time // zero = none

	// Trace is the place in a distributed trace of what the agent does for this
	// message; the handler's context has it, too. Pass it on to servers that the
	// agent asks: Trace.Parent is the header traceparent, Trace.State, if it is not
	// empty, tracestate. Zero = the call is part of none.
	Trace beeos.Trace

	can   []string
	spans bool // steps become spans of the trace
}

// Bind decodes the arguments of a tool or prompt, or the params of another
// method, into v. Without either it leaves v alone.
func (m Message) Bind(v any) error {
	raw := m.Arguments
	if len(raw) == 0 {
		raw = m.Params
	}
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("the arguments do not fit: %w", err)
	}
	return nil
}

// Can reports whether the caller can be asked something in mid-answer:
// "elicitation", "sampling" or "roots"; "progress" when it watches.
func (m Message) Can(what string) bool { return slices.Contains(m.can, what) }

// URI is what a resources/read asks for.
func (m Message) URI() string { return m.param().URI }

// PromptName is what a prompts/get asks for.
func (m Message) PromptName() string { return m.param().Name }

type params struct {
	URI  string `json:"uri"`
	Name string `json:"name"`
}

func (m Message) param() (p params) {
	_ = json.Unmarshal(m.Params, &p) // of another shape: then it names nothing
	return p
}

var placeholder = regexp.MustCompile(`\\\{[^{}]*\\\}`)

// matches reports whether the resource stands for a URI. A template's
// expressions match anything; who must know their values parses the URI.
func (r *Resource) matches(uri string) bool {
	if r.URITemplate == "" {
		return uri == r.URI
	}
	pattern := "^" + placeholder.ReplaceAllString(regexp.QuoteMeta(r.URITemplate), ".*") + "$"
	return regexp.MustCompile(pattern).MatchString(uri)
}

// refuseAll answers for an agent that has no handler of its own.
func refuseAll(_ context.Context, m Message, r *Reply) error {
	if m.Tool != "" {
		return fmt.Errorf("this agent has no tool %q", m.Tool)
	}
	return r.Refuse("this agent does not chat; call one of its tools")
}
