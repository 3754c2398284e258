package beeos

import (
	"math"
	"slices"
	"testing"
	"time"
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

// TestStepsBegin: an instance that had the request before counts from then.
func TestStepsBegin(t *testing.T) {
	asked := time.Unix(1000, 0)
	after := func(seconds int) time.Time { return asked.Add(time.Duration(seconds) * time.Second) }
	for name, c := range map[string]struct {
		steps []Step
		want  int
	}{
		"none":                      {nil, 8},
		"within the last attempt":   {[]Step{{AfterUS: 500_000, TookUS: 1_000_000}}, 8},
		"begun in the one before":   {[]Step{{AfterUS: 1_000_000}, {AfterUS: 6_000_000, TookUS: 1_000_000}}, 3},
		"longer than there was":     {[]Step{{AfterUS: 60_000_000}}, 0},
		"longer than anything took": {[]Step{{AfterUS: math.MaxInt64, TookUS: math.MaxInt64}}, 0},
	} {
		if got := StepsBegin(c.steps, asked, after(8), after(10)); !got.Equal(after(c.want)) {
			t.Errorf("%s: %s after the request, want %ds", name, got.Sub(asked), c.want)
		}
	}
}
