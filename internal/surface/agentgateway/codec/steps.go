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
)

// ReadSteps returns the steps that an agent told with its answer, as they are
// kept. What is not as it should be is left out: the answer counts, and how it
// came about is for people to look at.
func ReadSteps(raw json.RawMessage) []byte {
	if len(raw) == 0 || len(raw) > 2*beeos.MaxStepBytes {
		return nil
	}
	var told []json.RawMessage
	if json.Unmarshal(raw, &told) != nil {
		return nil
	}
	kept := make([]beeos.Step, 0, min(len(told), beeos.MaxSteps))
	for _, one := range told[:min(len(told), beeos.MaxSteps)] {
		var s beeos.Step
		if json.Unmarshal(one, &s) != nil {
			s = beeos.Step{Name: "a step that cannot be read"} // those after it name their parents by number
		}
		kept = append(kept, tidy(s, len(kept)))
	}
	for ; len(kept) > 0; kept = kept[:len(kept)/2] {
		if data, err := beeos.EncodeJSON(kept); err == nil && len(data) <= beeos.MaxStepBytes {
			return data
		}
	}
	return nil
}

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
	s.InputTokens, s.OutputTokens = max(0, s.InputTokens), max(0, s.OutputTokens)
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
