package codec

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
)

const (
	maxStepName = 200 // bytes
	maxStepText = 1000
	maxCostUSD  = 1e6 // of one model in one answer
)

// ReadSteps returns the steps that an agent told with its answer, as they are
// kept. What is not as it should be is left out: the answer counts, and how it
// came about is for people to look at.
func ReadSteps(raw json.RawMessage) (steps []beeos.Step, kept []byte) {
	if len(raw) == 0 || len(raw) > 2*beeos.MaxStepBytes {
		return nil, nil
	}
	var told []json.RawMessage
	if json.Unmarshal(raw, &told) != nil {
		return nil, nil
	}
	steps = make([]beeos.Step, 0, min(len(told), beeos.MaxSteps))
	for _, one := range told[:min(len(told), beeos.MaxSteps)] {
		var s beeos.Step
		if json.Unmarshal(one, &s) != nil {
			s = beeos.Step{Name: "a step that cannot be read"} // those after it name their parents by number
		}
		steps = append(steps, tidy(s, len(steps)))
	}
	for some := steps; len(some) > 0; some = some[:len(some)/2] {
		if data, err := beeos.EncodeJSON(some); err == nil && len(data) <= beeos.MaxStepBytes {
			return steps, data
		}
	}
	return steps, nil
}

// ReadUsage returns what an answer took, by model: as its agent says, or else as
// its steps do.
func ReadUsage(raw json.RawMessage, steps []beeos.Step) []beeos.Usage {
	var told, list []beeos.Usage
	if len(raw) == 0 || len(raw) > beeos.MaxStepBytes || json.Unmarshal(raw, &told) != nil {
		told = beeos.UsageOf(steps)
	}
	for _, u := range told {
		u.Model = storable(u.Model, maxStepName)
		u.InputTokens, u.OutputTokens = tokens(u.InputTokens), tokens(u.OutputTokens)
		if !(u.CostUSD > 0 && u.CostUSD < maxCostUSD) { // nor NaN
			u.CostUSD = 0
		}
		if list = beeos.AddUsage(list, u); len(list) > beeos.MaxUsage {
			return list[:beeos.MaxUsage]
		}
	}
	return list
}

func tokens(n int64) int64 { return min(max(0, n), beeos.MaxTokens) }

// tidy makes a step one that can be shown; before are those before it.
func tidy(s beeos.Step, before int) beeos.Step {
	switch s.Kind {
	case beeos.StepTool, beeos.StepModel, beeos.StepRetrieval:
	default:
		s.Kind = beeos.StepOther
	}
	if s.Parent < 0 || s.Parent > before {
		s.Parent = 0
	}
	s.Name, s.Error, s.Model = storable(s.Name, maxStepName), storable(s.Error, maxStepText), storable(s.Model, maxStepName)
	s.AfterUS, s.TookUS = max(0, s.AfterUS), max(0, s.TookUS)
	s.InputTokens, s.OutputTokens = tokens(s.InputTokens), tokens(s.OutputTokens)
	if !isSpanID(s.SpanID) {
		s.SpanID = ""
	}
	for name, value := range s.Attributes {
		s.Attributes[name] = storable(value, maxStepText)
	}
	return s
}

// isSpanID reports whether a span may have that id.
func isSpanID(id string) bool {
	n, err := strconv.ParseUint(id, 16, 64)
	return len(id) == 16 && err == nil && n != 0 && strings.ToLower(id) == id
}

// storable is a text that every database takes.
func storable(s string, most int) string {
	return beeos.Shorten(strings.ReplaceAll(s, "\x00", "\uFFFD"), most)
}
