package codec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

func TestStepsAreTidied(t *testing.T) {
	for raw, want := range map[string][]beeos.Step{
		``:         nil,
		`[]`:       nil,
		`{}`:       nil,
		`["x", 7]`: {{Name: "a step that cannot be read", Kind: "other"}, {Name: "a step that cannot be read", Kind: "other"}},
		`[{"name":"a","kind":"magic","parent":9,"after_us":-1,"took_us":5,"input_tokens":-3},{"name":"b","kind":"tool","parent":1,"took_us":1}]`: {
			{Name: "a", Kind: "other", TookUS: 5}, {Name: "b", Kind: "tool", Parent: 1, TookUS: 1},
		},
		`[{"name":"a","span_id":"00f067aa0ba902b7"},{"name":"b","span_id":"00F067AA0BA902B7"},{"name":"c","span_id":"0000000000000000"},{"name":"d","span_id":"+0f067aa0ba902b7"}]`: {
			{Name: "a", Kind: "other", SpanID: "00f067aa0ba902b7"}, {Name: "b", Kind: "other"}, {Name: "c", Kind: "other"}, {Name: "d", Kind: "other"},
		},
		`[{"name":"a\u0000b","attributes":{"k":"` + strings.Repeat("x", 2000) + `"}}]`: {
			{Name: "a\uFFFDb", Kind: "other", Attributes: map[string]string{"k": beeos.Shorten(strings.Repeat("x", 2000), 1000)}},
		},
	} {
		var got []beeos.Step
		if _, kept := ReadSteps([]byte(raw)); kept != nil {
			if err := json.Unmarshal(kept, &got); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60s: %s", raw, diff)
		}
	}
	many := `[` + strings.Repeat(`{"name":"x","kind":"tool"},`, 999) + `{"name":"x"}]`
	var got []beeos.Step
	_, kept := ReadSteps([]byte(many))
	if err := json.Unmarshal(kept, &got); err != nil || len(got) != beeos.MaxSteps {
		t.Errorf("%d steps, %v", len(got), err)
	}
}

// TestUsageIsTidied: what an agent says counts, and else what its steps say.
func TestUsageIsTidied(t *testing.T) {
	steps := []beeos.Step{{Model: "m", InputTokens: 1, OutputTokens: 2}, {Name: "no model"}, {Model: "m", InputTokens: 3}, {Model: "n", OutputTokens: 4}}
	ofSteps := []beeos.Usage{{Model: "m", InputTokens: 4, OutputTokens: 2}, {Model: "n", OutputTokens: 4}}
	for raw, want := range map[string][]beeos.Usage{
		"":            ofSteps,
		"nonsense":    ofSteps,
		`{"model":1}`: ofSteps,
		"[]":          nil,
		`[{"model":"x","input_tokens":5,"cost_usd":0.5},{"model":"x","output_tokens":6,"cost_usd":-1}]`: {{Model: "x", InputTokens: 5, OutputTokens: 6, CostUSD: 0.5}},
		`[{"model":"x","input_tokens":-5,"output_tokens":9223372036854775807,"cost_usd":1e300}]`:        {{Model: "x", OutputTokens: beeos.MaxTokens}},
	} {
		if diff := cmp.Diff(want, ReadUsage([]byte(raw), steps)); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
	var many []string
	for i := range 3 * beeos.MaxUsage {
		many = append(many, fmt.Sprintf(`{"model":"m%d","input_tokens":1}`, i))
	}
	if got := ReadUsage([]byte("["+strings.Join(many, ",")+"]"), nil); len(got) != beeos.MaxUsage {
		t.Errorf("%d models are kept", len(got))
	}
}
