package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

// Call is a call to an agent of the user's, by whoever and over whichever
// surface.
type Call struct {
	ID         string    `json:"id"` // of the request
	AgentID    string    `json:"agent_id"`
	Tool       string    `json:"tool,omitempty"` // empty = the agent itself
	Surface    string    `json:"surface"`
	Caller     string    `json:"caller"`
	CallerName string    `json:"caller_name"`
	Outcome    string    `json:"outcome"` // ok, failed, refused, busy, canceled, timeout, agent_lost or working
	BeganAt    time.Time `json:"began_at"`
	TookMS     float64   `json:"took_ms"` // so far, while it is worked on
}

// Took is how long the call took.
func (c *Call) Took() time.Duration { return time.Duration(c.TookMS * float64(time.Millisecond)) }

// CallDetail is all that is known of a call.
type CallDetail struct {
	Call
	ContextID string        `json:"context_id"`
	TraceID   string        `json:"trace_id,omitempty"` // of the OpenTelemetry trace that it is part of
	Request   CallRequest   `json:"request"`
	Reply     *CallReply    `json:"reply,omitempty"`
	Attempts  []CallAttempt `json:"attempts"`
	Approvals []Approval    `json:"approvals"`
	Steps     []beeos.Step  `json:"steps"` // what the agent told of its work
	Timeline  []CallMoment  `json:"timeline"`
	ReplayOf  string        `json:"replay_of,omitempty"` // the call that the user made again with this one
	Replays   []ReplayedAs  `json:"replays,omitempty"`   // those that repeat it, the newest first

	// MetadataOnly: what was said is kept from the agent's owner.
	MetadataOnly bool `json:"metadata_only,omitempty"`
}

// Tokens are those that went into models for the call and came out of them, as
// its agent told.
func (c *CallDetail) Tokens() (input, output int64) {
	for i := range c.Steps {
		input += c.Steps[i].InputTokens
		output += c.Steps[i].OutputTokens
	}
	return input, output
}

// CallRequest is what the caller said.
type CallRequest struct {
	Text      string            `json:"text,omitempty"`
	Parts     json.RawMessage   `json:"parts,omitempty"`
	Method    string            `json:"method,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"` // what the tool's schema names secret is "•••"
	Params    json.RawMessage   `json:"params,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Model     string            `json:"model,omitempty"`
	Prompt    *string           `json:"prompt,omitempty"`  // that was tried in place of a built-in agent's own
	AtStep    int               `json:"at_step,omitempty"` // at which the answer of the call that it repeats was taken up; 0 = from the beginning
}

// CallReply is how the call ended.
type CallReply struct {
	Text       string          `json:"text,omitempty"`
	Parts      json.RawMessage `json:"parts,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	StoredAt   time.Time       `json:"stored_at"`
}

// CallAttempt is one instance's work on a call.
type CallAttempt struct {
	Number      int       `json:"number"`
	Node        string    `json:"node,omitempty"`
	InstanceID  string    `json:"instance_id,omitempty"`
	BeganAt     time.Time `json:"began_at"`
	GivenAt     time.Time `json:"given_at,omitzero"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	FirstTextAt time.Time `json:"first_text_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	Ended       string    `json:"ended,omitempty"` // gone, lease or undelivered: why, without a reply
	Resumed     bool      `json:"resumed,omitempty"`
}

// CallMoment is something that happened to a call.
type CallMoment struct {
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Attempt int       `json:"attempt,omitempty"`
	Who     string    `json:"who,omitempty"`
	What    string    `json:"what,omitempty"`
}

// CallFilter picks calls; an empty field picks all.
type CallFilter struct {
	AgentID      string
	Tool         string
	Surface      string
	Caller       string
	Outcomes     []string
	Slower       time.Duration
	Since, Until time.Time
}

func (f *CallFilter) query() url.Values {
	q := url.Values{}
	for name, v := range map[string]string{"agent_id": f.AgentID, "tool": f.Tool, "surface": f.Surface, "caller": f.Caller} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if len(f.Outcomes) > 0 {
		q["outcome"] = f.Outcomes
	}
	if f.Slower > 0 {
		q.Set("slower_than_ms", strconv.FormatInt(f.Slower.Milliseconds(), 10))
	}
	for name, t := range map[string]time.Time{"from": f.Since, "until": f.Until} {
		if !t.IsZero() {
			q.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	return q
}

// Calls lists calls to the user's agents, newest first, page by page.
func (c *Client) Calls(ctx context.Context, f CallFilter) iter.Seq2[Call, error] {
	return func(yield func(Call, error) bool) {
		q := f.query()
		q.Set("limit", "100")
		for {
			var page struct {
				Calls []Call `json:"calls"`
				Next  string `json:"next_since"`
			}
			if _, err := c.do(ctx, http.MethodGet, "/api/v1/calls?"+q.Encode(), nil, &page); err != nil {
				yield(Call{}, err)
				return
			}
			for _, one := range page.Calls {
				if !yield(one, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("since", page.Next)
		}
	}
}

// Call returns all that is known of a call to an agent of the user's.
func (c *Client) Call(ctx context.Context, id string) (*CallDetail, error) {
	return call[CallDetail](ctx, c, http.MethodGet, apiPath("calls", id), nil)
}
