package beeos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Step is something that an agent did on its way to an answer, as it tells: a
// tool it used, a model it asked, what it looked up. Times count from the moment
// at which it was given the request, so that its clock does not matter.
type Step struct {
	Name         string            `json:"name"`
	Kind         StepKind          `json:"kind,omitempty"`
	Parent       int               `json:"parent,omitempty"` // which step of the list it is part of, from 1; 0 = none
	AfterUS      int64             `json:"after_us"`         // when it began
	TookUS       int64             `json:"took_us"`
	Error        string            `json:"error,omitempty"`
	Attributes   map[string]string `json:"attributes,omitempty"`
	Model        string            `json:"model,omitempty"`
	InputTokens  int64             `json:"input_tokens,omitempty"`
	OutputTokens int64             `json:"output_tokens,omitempty"`
	SpanID       string            `json:"span_id,omitempty"` // its span in the trace of the request, if that has one
}

// Summary says in a line what came of the step, without its name.
func (s *Step) Summary() string {
	parts := []string{string(s.Kind)}
	if s.Model != "" {
		parts = append(parts, s.Model)
	}
	if s.InputTokens+s.OutputTokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", s.InputTokens, s.OutputTokens))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
		parts = append(parts, name+" "+s.Attributes[name])
	}
	if s.Error != "" {
		parts = append(parts, s.Error)
	}
	return strings.Join(parts, ", ")
}

// StepDepths returns how deep each step of a list lies in others: 0 = in none.
func StepDepths(list []Step) []int {
	depths := make([]int, len(list))
	for i := range list {
		if p := list[i].Parent; p > 0 && p <= i { // parents come first
			depths[i] = depths[p-1] + 1
		}
	}
	return depths
}

// StepsBegin returns from when on the times of steps count: given, when the attempt
// that brought the answer was handed out; or earlier, where an instance had the
// request before and went on with its work, because no step ends after its answer.
// Nothing begins before the request was there.
func StepsBegin(list []Step, asked, given, answered time.Time) time.Time {
	most, whole := answered.Sub(asked).Microseconds(), int64(0)
	for i := range list {
		whole = max(whole, min(most, list[i].AfterUS)+min(most, list[i].TookUS))
	}
	if begin := answered.Add(-time.Duration(min(most, whole)) * time.Microsecond); begin.Before(given) {
		return begin
	}
	return given
}

// StepKind says what was done.
type StepKind string

const (
	StepTool      StepKind = "tool"
	StepModel     StepKind = "model"
	StepRetrieval StepKind = "retrieval"
	StepOther     StepKind = "other"
)

// Attributes of steps of kind tool that mean the same whoever tells them.
const (
	StepReadOnly  = "read_only"  // true: the tool says of itself that it has changed nothing
	StepArguments = "arguments"  // the beginning of what it was called with, without secrets
	StepApproval  = "approval"   // went_by_itself, approved, denied or expired
	StepDecidedBy = "decided_by" // who was asked and decided: user:<id>, link or system
)

// Values of StepApproval.
const (
	WentByItself  = "went_by_itself" // the rules asked nobody
	StepApproved  = "approved"
	StepDenied    = "denied"
	StepUndecided = "expired" // nobody decided in time, which is a no
)

// What of an agent's steps is kept with its answer.
const (
	MaxSteps     = 200
	MaxStepBytes = 64 << 10 // of all of them, as JSON
)
