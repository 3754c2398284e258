package calltrace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/telemetry/trace"
)

// request is one that has ended, and where it stands in its trace.
type request struct {
	*ledger.Ended
	m      *Maker
	origin trace.Origin
}

func (r *request) tracer() *trace.Tracer { return r.m.opt.Tracer }

// emit makes the spans of the request. entryLives says that the span of the
// caller's request is not lost: the node that has it still runs, or there is none.
func (r *request) emit(ctx context.Context, entryLives bool, asked []approvals.Approval) {
	r.emitRequest(ctx, entryLives)
	r.emitAttempts()
	for i := range asked {
		r.emitApproval(&asked[i])
	}
}

// emitRequest makes the span over the whole request. When the span that it should
// be part of died with its node, it takes the place of that.
func (r *request) emitRequest(ctx context.Context, entryLives bool) {
	name := ""
	if a, err := r.m.opt.Agent(ctx, r.Route.AgentID); err == nil {
		name = a.Name
	}
	span := trace.Record{Parent: r.origin.Trace, ID: trace.RequestSpan(r.Turn), Kind: trace.Client, Start: r.Began, End: r.Reply.CreatedAt}
	switch {
	case entryLives:
	case r.origin.Outer != "":
		span.Parent = r.origin.Trace.At(r.origin.Outer)
	default:
		span.Root = true
	}
	outcome := calls.OutcomeOf(&r.Reply)
	span.Name, span.Attrs = trace.AgentSpan(r.Route.AgentID, name)
	span.Attrs = append(span.Attrs,
		trace.Text(trace.RequestID, r.Turn), trace.Text(trace.ConversationID, r.Reply.Channel), trace.Text(trace.Surface, r.Route.Surface),
		trace.Text(trace.ToolName, r.Route.Tool), trace.Text(trace.Outcome, outcome.String()))
	if outcome != calls.OK {
		span.Error = outcome.String()
	}
	r.tracer().Emit(&span)
}

// emitAttempts makes the spans of the attempts, and of the steps of the one that
// brought the reply.
func (r *request) emitAttempts() {
	list := r.Attempts()
	for i := range list {
		a := &list[i]
		last := i == len(list)-1
		span := trace.Record{
			Parent: r.origin.At(r.Turn), ID: trace.AttemptSpan(r.Turn, a.Number), Name: trace.AttemptName, Kind: trace.Client, Start: a.Began, End: a.Ended,
			Attrs: []trace.Attr{
				trace.Number(trace.AttemptNumber, int64(a.Number)), trace.Text(trace.AttemptNode, a.Node), trace.Text(trace.AttemptAgent, a.Instance),
				trace.Text(trace.AttemptEnd, string(a.Why)),
			},
		}
		if a.Resumed {
			span.Attrs = append(span.Attrs, trace.Text(trace.AttemptResumed, "true"))
		}
		switch outcome := calls.OutcomeOf(&r.Reply); {
		case a.Why != "":
			span.Error, span.Words = string(a.Why), a.Why.Words()
		case last && outcome != calls.OK:
			span.Error = outcome.String()
		}
		switch {
		case !span.End.IsZero():
		case last:
			span.End = r.Reply.CreatedAt
		default:
			span.End = list[i+1].Began
		}
		r.tracer().Emit(&span)
	}
	if len(list) > 0 {
		r.emitSteps(&list[len(list)-1])
	}
}

// emitSteps makes the spans of what the agent told of its work. An id that it gave
// to two of them counts once: it is not ours to trust.
func (r *request) emitSteps(by *ledger.Attempt) {
	var steps []beeos.Step
	if len(r.Steps) == 0 || json.Unmarshal(r.Steps, &steps) != nil {
		return
	}
	base := by.Given
	if base.IsZero() {
		base = by.Began
	}
	base = beeos.StepsBegin(steps, r.Began, base, r.Reply.CreatedAt)
	ids, taken := make([]string, len(steps)), map[string]bool{trace.RequestSpan(r.Turn): true, trace.AttemptSpan(r.Turn, by.Number): true}
	for i := range steps {
		s := &steps[i]
		if ids[i] = s.SpanID; ids[i] == "" || taken[ids[i]] {
			ids[i] = trace.StepSpan(r.Turn, by.Number, i+1)
		}
		taken[ids[i]] = true
		span := trace.DescribeStep(s)
		span.Parent, span.ID = r.origin.AtAttempt(r.Turn, by.Number), ids[i]
		if s.Parent > 0 && s.Parent <= i {
			span.Parent = r.origin.Trace.At(ids[s.Parent-1])
		}
		span.Start = base.Add(time.Duration(s.AfterUS) * time.Microsecond)
		span.End = span.Start.Add(time.Duration(s.TookUS) * time.Microsecond)
		r.tracer().Emit(&span)
	}
}

// emitApproval makes the span of the wait for a person.
func (r *request) emitApproval(a *approvals.Approval) {
	end := a.DecidedAt
	if end.IsZero() {
		end = r.Reply.CreatedAt
	}
	r.tracer().Emit(&trace.Record{
		Parent: r.origin.At(r.Turn), ID: trace.ApprovalSpan(a.ID), Name: trace.ApprovalName(a.Tool), Kind: trace.Internal, Start: a.CreatedAt, End: end,
		Attrs: []trace.Attr{
			trace.Text(trace.ApprovalID, a.ID), trace.Text(trace.ToolName, a.Tool), trace.Text(trace.SkillServer, a.Skill),
			trace.Text(trace.ApprovalState, string(a.State)), trace.Text(trace.ApprovalBy, a.DecidedBy),
		},
	})
}
