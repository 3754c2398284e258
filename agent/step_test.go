package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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
	raw := r.tellSteps()
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
	if raw := r.tellSteps(); len(raw) > beeos.MaxStepBytes || len(raw) < beeos.MaxStepBytes/4 {
		t.Errorf("%d bytes are told", len(raw))
	}
	if (*Step)(nil).Set("a", "b").Tokens("m", 1, 1).Step("x", StepTool) != nil {
		t.Error("a step that is not there has parts")
	}
}
