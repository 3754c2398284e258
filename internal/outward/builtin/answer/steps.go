package answer

import (
	"errors"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
)

// endModelStep tells what it took to ask the model once. from is where its words
// come from, if it was not asked just now: what a fork takes over took nothing.
func (t *turn) endModelStep(s *agent.Step, w *modelWords, from string, err error) {
	provider, model := llm.Describe(t.a.LLM, t.model)
	if from != fromFork {
		s.Tokens(model, int64(w.Input), int64(w.Output))
	}
	for name, value := range map[string]string{
		"provider":   provider,
		"finish":     w.Finish,
		"tool_calls": count(len(w.Calls)),
		"tokens":     map[bool]string{true: "estimated"}[w.Estimated],
		"words":      from,
	} {
		if value != "" {
			s.Set(name, value)
		}
	}
	s.End(err)
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// Of what a tool was called with, its step tells the beginning, and the steps of an
// answer only so much together: beyond, the steps themselves would not be kept.
const (
	longestArguments = 500
	mostArguments    = 16 << 10
)

// tellArguments says what a tool is called with, without secrets: masked first, and cut
// then.
func (t *turn) tellArguments(s *agent.Step, call llm.Call) {
	shown := beeos.Shorten(string(t.maskArguments(call)), longestArguments)
	if shown != "" && t.told.Add(int64(len(shown))) <= mostArguments {
		s.Set(beeos.StepArguments, shown)
	}
}

// endToolStep tells what came of a call. What was said is in the answer's parts.
func endToolStep(s *agent.Step, used tool, got *skill.Result) {
	if used.skill.Name != "" {
		s.Set("server", used.skill.Name)
	}
	if used.readOnly {
		s.Set(beeos.StepReadOnly, "true")
	}
	s.Set("result_bytes", strconv.Itoa(len(got.Text)+len(got.Whole)))
	if got.IsError {
		s.End(errors.New(got.Text))
		return
	}
	s.End(nil)
}
