package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/beeos/beeos"
)

// Kinds of steps.
const (
	StepTool      = beeos.StepTool
	StepModel     = beeos.StepModel
	StepRetrieval = beeos.StepRetrieval
	StepOther     = beeos.StepOther
)

// Step is something that the agent does on its way to an answer. Whoever owns the
// agent sees it on the page of the call: when it began, how long it took, what it
// was part of. Its methods may be called from several goroutines; those of a nil
// Step do nothing.
type Step struct {
	r  *Reply
	no int // in the list of the answer's steps, from 1; 0 = it is not kept

	span string // its id in a trace; "" = it has none
}

// Step begins one. End it, or it ends with the answer.
//
//	s := r.Step("search", agent.StepTool)
//	found, err := search(query)
//	s.Set("query", query).End(err)
//
// The first 200 of an answer are kept, up to 64 KiB.
func (r *Reply) Step(name string, kind beeos.StepKind) *Step { return r.beginStep(name, kind, 0) }

// Step begins a step that is part of this one.
func (s *Step) Step(name string, kind beeos.StepKind) *Step {
	if s == nil {
		return nil
	}
	return s.r.beginStep(name, kind, s.no)
}

func (r *Reply) beginStep(name string, kind beeos.StepKind, parent int) *Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.terminal != nil {
		return nil
	}
	if len(r.steps) >= beeos.MaxSteps {
		return &Step{r: r}
	}
	s := beeos.Step{Name: name, Kind: kind, Parent: parent, AfterUS: time.Since(r.began).Microseconds(), TookUS: -1}
	if r.m.spans {
		s.SpanID = fmt.Sprintf("%016x", max(1, rand.Uint64()))
	}
	r.steps = append(r.steps, s)
	return &Step{r, len(r.steps), s.SpanID}
}

// Context is ctx within the step: what the agent asks of others with it is part of
// the step, where the call is traced.
func (s *Step) Context(ctx context.Context) context.Context {
	if s == nil || s.span == "" {
		return ctx
	}
	return beeos.WithTrace(ctx, s.Trace())
}

// Trace is the place of the step in a distributed trace, or that of the message
// where steps have none.
func (s *Step) Trace() beeos.Trace {
	switch {
	case s == nil:
		return beeos.Trace{}
	case s.span == "":
		return s.r.m.Trace
	}
	return s.r.m.Trace.At(s.span)
}

// change lets f change what is known of the step, until the answer has ended.
func (s *Step) change(f func(*beeos.Step)) *Step {
	if s != nil && s.no > 0 {
		s.r.mu.Lock()
		defer s.r.mu.Unlock()
		if s.r.terminal == nil {
			f(&s.r.steps[s.no-1])
		}
	}
	return s
}

// Set says more about the step: what was looked for, how much was found. Do not
// put secrets there.
func (s *Step) Set(name, value string) *Step {
	return s.change(func(b *beeos.Step) {
		all := maps.Clone(b.Attributes)
		if all == nil {
			all = map[string]string{}
		}
		all[name] = value
		b.Attributes = all
	})
}

// Tokens says which model was asked, and what that took.
func (s *Step) Tokens(model string, input, output int64) *Step {
	if s != nil && s.no == 0 { // what it took counts all the same
		s.r.mu.Lock()
		defer s.r.mu.Unlock()
		s.r.beyond = beeos.AddUsage(s.r.beyond, beeos.Usage{Model: model, InputTokens: input, OutputTokens: output})
		return s
	}
	return s.change(func(b *beeos.Step) { b.Model, b.InputTokens, b.OutputTokens = model, input, output })
}

// End ends the step, with what went wrong if anything did.
func (s *Step) End(err error) {
	s.change(func(b *beeos.Step) {
		if b.TookUS < 0 {
			b.TookUS = max(0, time.Since(s.r.began).Microseconds()-b.AfterUS)
		}
		if err != nil {
			b.Error = beeos.Shorten(err.Error(), 500)
		}
	})
}

// Usage says what the answer took of a model, for agents that tell no steps: what
// is said here counts instead of the tokens of steps, and adds up. costUSD is
// what it cost; 0 = that is left to the server's price list.
func (r *Reply) Usage(model string, input, output int64, costUSD float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if math.IsNaN(costUSD) || math.IsInf(costUSD, 0) {
		costUSD = 0
	}
	if r.terminal == nil {
		r.usage = beeos.AddUsage(r.usage, beeos.Usage{Model: model, InputTokens: input, OutputTokens: output, CostUSD: costUSD})
	}
}

// countUsage is what the answer took, as far as it was told. r.mu is held.
func (r *Reply) countUsage() []beeos.Usage {
	if len(r.usage) > 0 {
		return r.usage
	}
	list := beeos.UsageOf(r.steps)
	for _, u := range r.beyond {
		list = beeos.AddUsage(list, u)
	}
	return list
}

func encodeUsage(list []beeos.Usage) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	data, _ := beeos.EncodeJSON(list) // strings and numbers
	return data
}

// tellSteps is the steps as they go with the end of an answer, as many as the
// gateway keeps; nil = there were none. With them goes what the answer took,
// where they do not say it. r.mu is held.
func (r *Reply) tellSteps() (steps, usage json.RawMessage) {
	now := time.Since(r.began).Microseconds()
	for i := range r.steps {
		if s := &r.steps[i]; s.TookUS < 0 {
			s.TookUS = max(0, now-s.AfterUS)
		}
	}
	for list := r.steps; len(list) > 0; list = list[:len(list)/2] {
		if data, err := beeos.EncodeJSON(list); err == nil && len(data) <= beeos.MaxStepBytes {
			if len(list) < len(r.steps) || len(r.usage)+len(r.beyond) > 0 {
				usage = encodeUsage(r.countUsage())
			}
			return data, usage
		}
	}
	return nil, encodeUsage(r.countUsage())
}
