package builtin_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
)

// moody is a service whose models differ in how far they get.
type moody struct{}

func (moody) Stream(_ context.Context, r llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		switch r.Model {
		case "away":
			yield(llm.Delta{}, errors.New("the model service fails (503)"))
		case "stammers":
			if yield(llm.Delta{Text: "It is "}, nil) {
				yield(llm.Delta{}, errors.New("the model's answer broke off"))
			}
		default:
			for _, d := range llm.Say("said by " + r.Model) {
				if !yield(d, nil) {
					return
				}
			}
			yield(llm.Delta{Stop: llm.StopEnd}, nil)
		}
	}
}

// TestFallbacks: when a model does not begin to answer the next one is asked, and the
// record has both. What was begun is not begun again by another.
func TestFallbacks(t *testing.T) {
	s := start(t, builtin.Options{Model: moody{}})
	c := client.New(s.REST, s.UserKey)
	for name, test := range map[string]struct {
		d     builtin.Definition
		says  string
		asked []string
	}{
		"away":     {builtin.Definition{Model: "away", Fallbacks: []string{"away", "near", "far"}}, "said by near", []string{"away", "near"}},
		"all away": {builtin.Definition{Model: "away", Fallbacks: []string{"away"}}, "", []string{"away"}},
		"begun":    {builtin.Definition{Model: "stammers", Fallbacks: []string{"near"}}, "", []string{"stammers"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.d.Name = "moody-" + strings.Fields(name)[0]
			_, id := s.create(t, test.d, nil)
			got, err := s.say(t.Context(), id, "", "well?")
			if (err == nil && !got.IsError) != (test.says != "") || err == nil && test.says != "" && got.Text != test.says {
				t.Errorf("%+v, %v; want %q", got, err, test.says)
			}
			var asked []string
			for one, err := range c.Calls(t.Context(), client.CallFilter{AgentID: id}) {
				if err != nil {
					t.Fatal(err)
				}
				made, err := c.Call(t.Context(), one.ID)
				if err != nil {
					t.Fatal(err)
				}
				for i, step := range made.Steps {
					asked = append(asked, step.Model)
					if last := i == len(made.Steps)-1; (step.Error == "") != (last && test.says != "") {
						t.Errorf("step %d: %+v", i, step)
					}
				}
			}
			if !slices.Equal(asked, test.asked) {
				t.Errorf("asked %v, want %v", asked, test.asked)
			}
		})
	}
}
