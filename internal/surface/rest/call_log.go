package rest

import (
	"cmp"
	"encoding/json"
	"math"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/store/approvals"
	storedcalls "github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// callView is a call to an agent of the caller's, without what was said.
type callView struct {
	ID         string    `json:"id"`
	AgentID    string    `json:"agent_id"`
	Tool       string    `json:"tool,omitempty"`
	Surface    string    `json:"surface"`
	Caller     string    `json:"caller"`
	CallerName string    `json:"caller_name"`
	Outcome    string    `json:"outcome"`
	BeganAt    time.Time `json:"began_at"`
	TookMS     float64   `json:"took_ms"` // so far, while it is worked on
}

func viewCall(c *storedcalls.Call, name func(principal string) string) callView {
	return callView{
		ID: c.Turn, AgentID: c.Route.AgentID, Tool: c.Route.Tool, Surface: c.Route.Surface, Caller: c.Route.Caller, CallerName: name(c.Route.Caller),
		Outcome: c.Outcome.String(), BeganAt: c.Began, TookMS: milliseconds(c.Took),
	}
}

func milliseconds(d time.Duration) float64 { return math.Round(float64(d.Microseconds())) / 1000 }

// callDetail is a call with all that is known of it.
type callDetail struct {
	callView
	ContextID string         `json:"context_id"`
	TraceID   string         `json:"trace_id,omitempty"`
	Request   callRequest    `json:"request"`
	Reply     *callReply     `json:"reply,omitempty"`
	Attempts  []attemptView  `json:"attempts"`
	Approvals []approvalView `json:"approvals"`
	Steps     []beeos.Step   `json:"steps"`
	Timeline  []momentView   `json:"timeline"`
	ReplayOf  string         `json:"replay_of,omitempty"`
	Replays   []replayedAs   `json:"replays,omitempty"`

	MetadataOnly bool `json:"metadata_only,omitempty"`
}

// replayedAs is a call that repeats another.
type replayedAs struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

type callRequest struct {
	Text      string            `json:"text,omitempty"`
	Parts     json.RawMessage   `json:"parts,omitempty"`
	Method    string            `json:"method,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Params    json.RawMessage   `json:"params,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Model     string            `json:"model,omitempty"`
	Prompt    *string           `json:"prompt,omitempty"`
	AtStep    int               `json:"at_step,omitempty"`
}

type callReply struct {
	Text       string          `json:"text,omitempty"`
	Parts      json.RawMessage `json:"parts,omitempty"`
	Payload    json.RawMessage `json:"payload,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
	StoredAt   time.Time       `json:"stored_at"`
}

type attemptView struct {
	Number      int       `json:"number"`
	Node        string    `json:"node,omitempty"`
	InstanceID  string    `json:"instance_id,omitempty"`
	BeganAt     time.Time `json:"began_at"`
	GivenAt     time.Time `json:"given_at,omitzero"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	FirstTextAt time.Time `json:"first_text_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	Ended       string    `json:"ended,omitempty"` // why, without a reply
	Resumed     bool      `json:"resumed,omitempty"`
}

func viewAttempt(a *ledger.Attempt) attemptView {
	return attemptView{a.Number, a.Node, a.Instance, a.Began, a.Given, a.Started, a.FirstText, a.Ended, string(a.Why), a.Resumed}
}

type momentView struct {
	At      time.Time  `json:"at"`
	Event   sight.Kind `json:"event"`
	Attempt int        `json:"attempt,omitempty"`
	Who     string     `json:"who,omitempty"`
	What    string     `json:"what,omitempty"`
}

func viewMoment(m *sight.Moment) momentView {
	return momentView{m.At, m.Kind, m.Attempt, m.Who, m.What}
}

// listCalls lists calls to the caller's agents, newest first.
func (s *Surface) listCalls(r *route.Request) (any, error) {
	p, err := r.ReadPage(200)
	if err != nil {
		return nil, err
	}
	f, err := readCallFilter(r)
	if err != nil {
		return nil, err
	}
	f.Before, f.Limit = p.Before, p.AtMost()
	found, err := s.opt.Acts.Calls(r.Context(), r.Caller, f)
	if err != nil {
		return nil, err
	}
	names := s.opt.Acts.NamePrincipals(r.Context(), r.Caller)
	return route.PageOf("calls", p, found, func(c *storedcalls.Call) callView { return viewCall(c, names) }, func(c *storedcalls.Call) string { return c.Turn }), nil
}

// readCallFilter reads which calls are asked for off the URL.
func readCallFilter(r *route.Request) (f act.CallFilter, err error) {
	q := r.URL.Query()
	f.AgentID, f.Surface, f.Tool = q.Get("agent_id"), q.Get("surface"), q.Get("tool")
	if caller := q.Get("caller"); caller != "" {
		f.Callers = []string{caller}
	}
	for _, name := range q["outcome"] {
		o, err := storedcalls.ParseOutcome(name)
		if err != nil {
			return f, err
		}
		f.Outcomes = append(f.Outcomes, o)
	}
	slower, err := r.QueryInt("slower_than_ms", 0, 0, math.MaxInt32)
	if err != nil {
		return f, err
	}
	f.Slower = time.Duration(slower) * time.Millisecond
	if f.Since, err = queryTime(r, "from"); err != nil {
		return f, err
	}
	f.Until, err = queryTime(r, "until")
	return f, err
}

// queryTime reads a moment off the URL.
func queryTime(r *route.Request, name string) (time.Time, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}, beeos.Errorf(beeos.InvalidParam, "%s must be a time such as 2026-01-31T14:00:00Z", name)
	}
	return t, nil
}

// getCall shows all that is known of a call.
func (s *Surface) getCall(r *route.Request) (any, error) {
	c, err := s.opt.Acts.Call(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	names := s.opt.Acts.NamePrincipals(r.Context(), r.Caller)
	end := s.opt.Now()
	v := callDetail{
		ContextID: c.Channel, TraceID: c.TraceID, MetadataOnly: c.MetadataOnly, Steps: append([]beeos.Step{}, c.Steps...), Attempts: route.Views(c.Attempts, viewAttempt), Timeline: route.Views(c.Timeline, viewMoment),
		Approvals: route.Views(c.Approvals, func(a *approvals.Approval) approvalView { return viewApproval(a) }),
		Request: callRequest{
			Text: c.Body, Parts: c.Parts, Method: c.Payload.Method, Arguments: c.Payload.Arguments, Params: c.Payload.Params,
			Metadata: c.Payload.Metadata, Model: c.Payload.Model,
		},
	}
	if tried := c.Payload.Trial; tried != nil {
		v.Request.Model, v.Request.Prompt, v.Request.AtStep = cmp.Or(tried.Model, v.Request.Model), tried.Prompt, tried.Step
	}
	v.ReplayOf, v.Replays = c.ReplayOf, route.Views(c.Replays, func(r *storedcalls.Replay) replayedAs { return replayedAs{r.Turn, r.At} })
	if m := c.Done; m != nil {
		end = m.CreatedAt
		v.Reply = &callReply{Text: m.Body, Parts: m.Parts, Payload: m.Payload, StopReason: m.StopReason, StoredAt: m.CreatedAt}
	}
	v.callView = callView{
		ID: c.ID, AgentID: c.AgentID, Tool: c.Payload.Tool, Surface: c.Payload.Protocol, Caller: c.Publisher, CallerName: names(c.Publisher),
		Outcome: c.Outcome.String(), BeganAt: c.CreatedAt, TookMS: milliseconds(end.Sub(c.CreatedAt)),
	}
	return v, nil
}
