package beeos

import (
	"slices"
	"testing"
)

// TestStepDepths: parents that are not there, or come later, are none.
func TestStepDepths(t *testing.T) {
	list := []Step{{}, {Parent: 1}, {Parent: 2}, {Parent: 9}, {Parent: -1}, {Parent: 6}, {Parent: 1}}
	if got, want := StepDepths(list), []int{0, 1, 2, 0, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStepSummary(t *testing.T) {
	s := Step{Name: "x", Kind: StepModel, Model: "m1", InputTokens: 2, OutputTokens: 3, Attributes: map[string]string{"b": "2", "a": "1"}, Error: "broke"}
	if got, want := s.Summary(), "model, m1, 2 tokens in, 3 out, a 1, b 2, broke"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
