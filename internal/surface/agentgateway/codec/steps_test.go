package codec

import (
	"encoding/json"
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
		if kept := ReadSteps([]byte(raw)); kept != nil {
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
	if err := json.Unmarshal(ReadSteps([]byte(many)), &got); err != nil || len(got) != beeos.MaxSteps {
		t.Errorf("%d steps, %v", len(got), err)
	}
}
