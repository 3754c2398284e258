package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestStepsGoWithTheAnswer: in order, with what they are part of, how long they
// took and what went wrong; one that was not ended ends with the answer.
func TestStepsGoWithTheAnswer(t *testing.T) {
	r := &Reply{a: &Agent{}, m: Message{ID: "m"}, ctx: context.Background()}
	plan := r.Step("plan", StepModel).Tokens("m1", 12, 34)
	search := plan.Step("search", StepTool)
	search.Set("query", "weather").Set("found", "3").End(errors.New("timed out"))
	search.End(nil) // the second end changes nothing but what went wrong, which it does not say
	r.mu.Lock()
	raw, _ := r.tellSteps()
	r.mu.Unlock()
	var got []beeos.Step
	if err := json.Unmarshal(raw, &got); err != nil || len(got) != 2 {
		t.Fatalf("%s, %v", raw, err)
	}
	if s := got[0]; s.Name != "plan" || s.Kind != StepModel || s.Model != "m1" || s.InputTokens != 12 || s.OutputTokens != 34 || s.TookUS < 0 || s.Parent != 0 {
		t.Errorf("%+v", s)
	}
	if s := got[1]; s.Name != "search" || s.Parent != 1 || s.Error != "timed out" || s.Attributes["query"] != "weather" || s.Attributes["found"] != "3" || s.TookUS < 0 {
		t.Errorf("%+v", s)
	}
}

func TestStepsAreBounded(t *testing.T) {
	r := &Reply{a: &Agent{}, m: Message{ID: "m"}, ctx: context.Background()}
	for i := range 3 * beeos.MaxSteps {
		r.Step(fmt.Sprint("step ", i), StepOther).Set("text", strings.Repeat("x", 1000)).End(nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, _ := r.tellSteps(); len(raw) > beeos.MaxStepBytes || len(raw) < beeos.MaxStepBytes/4 {
		t.Errorf("%d bytes are told", len(raw))
	}
	if (*Step)(nil).Set("a", "b").Tokens("m", 1, 1).Step("x", StepTool) != nil {
		t.Error("a step that is not there has parts")
	}
}

// TestUsageIsWhole: what steps took counts also where the steps are too many to be
// kept, and what the author says counts instead.
func TestUsageIsWhole(t *testing.T) {
	r := &Reply{began: time.Now()}
	for range 2 * beeos.MaxSteps {
		r.Step("ask", StepModel).Tokens("m", 10, 1).End(nil)
	}
	_, usage := r.tellSteps()
	if want := fmt.Sprintf(`[{"model":"m","input_tokens":%d,"output_tokens":%d}]`, 20*beeos.MaxSteps, 2*beeos.MaxSteps); strings.TrimSpace(string(usage)) != want {
		t.Errorf("%s, want %s", usage, want)
	}
	r.Usage("x", 1, 2, 0.5)
	r.Usage("x", 1, 2, math.NaN())
	if _, usage := r.tellSteps(); strings.TrimSpace(string(usage)) != `[{"model":"x","input_tokens":2,"output_tokens":4,"cost_usd":0.5}]` {
		t.Errorf("%s", usage)
	}
	few := &Reply{began: time.Now()}
	few.Step("ask", StepModel).Tokens("m", 10, 1).End(nil)
	if steps, usage := few.tellSteps(); len(steps) == 0 || usage != nil {
		t.Errorf("%s, %s: the steps say it", steps, usage)
	}
}

// TestStepsHavePlacesInTraces: where the gateway makes spans of them, and only
// there; elsewhere what is asked of others is part of what the message is.
func TestStepsHavePlacesInTraces(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
	for name, c := range map[string]struct {
		frame beeos.Frame
		spans bool
	}{
		"spans are made":   {beeos.Frame{TraceParent: parent + "1", TraceState: "a=1", Spans: true}, true},
		"passed on":        {beeos.Frame{TraceParent: parent + "1"}, false},
		"nobody looks":     {beeos.Frame{TraceParent: parent + "0", Spans: true}, false},
		"no trace at all":  {beeos.Frame{}, false},
		"a malformed one":  {beeos.Frame{TraceParent: "00-1-2-01", TraceState: "a=1", Spans: true}, false},
		"state without it": {beeos.Frame{TraceState: "a=1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := readMessage(encode(c.frame))
			if err != nil {
				t.Fatal(err)
			}
			if want := beeos.ParseTrace(c.frame.TraceParent, c.frame.TraceState); m.Trace != want {
				t.Errorf("%+v, want %+v", m.Trace, want)
			}
			ctx, cancel := (&Agent{base: t.Context()}).handlerContext(m)
			defer cancel(nil)
			r := &Reply{a: &Agent{}, m: m, ctx: ctx}
			s, other := r.Step("a", StepTool), r.Step("b", StepTool)
			at := beeos.TraceOf(s.Context(ctx))
			if at != s.Trace() || at.ID() != m.Trace.ID() || at.State != m.Trace.State || (at != m.Trace) != c.spans || c.spans && at == other.Trace() {
				t.Errorf("the step is at %+v, the next at %+v", at, other.Trace())
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			var told []beeos.Step
			raw, _ := r.tellSteps()
			if err := json.Unmarshal(raw, &told); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]string{true: at.Span()}[c.spans]; told[0].SpanID != want {
				t.Errorf("it is told to have the span %q, want %q", told[0].SpanID, want)
			}
		})
	}
	var none *Step
	if ctx := t.Context(); none.Context(ctx) != ctx || !none.Trace().IsZero() {
		t.Error("a step that is not there has a place")
	}
}
