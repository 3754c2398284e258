package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
)

func TestRawJSONStaysByteForByte(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		_, inst := storetest.Owner(t, db, "a@example.com")
		def := storetest.RawDefinition()
		id := storetest.Sync(t, db, inst, def).IDs()["raw"]
		a, err := db.Agents.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(storetest.RawDefinition(), a.Definition); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(storetest.RawDefinition(), def); diff != "" {
			t.Errorf("the caller's definition changed\n%s", diff)
		}
		wantSync(t, storetest.Sync(t, db, inst, def), "", "", "", "raw")
	})
}

func TestSilentJSONIsDropped(t *testing.T) {
	d := agents.Clean(beeos.Definition{Name: "a", Skills: []beeos.Skill{{Name: "s", InputSchema: json.RawMessage(" {} "), OutputSchema: json.RawMessage("null")}}})
	if d.Skills[0].InputSchema != nil || d.Skills[0].OutputSchema != nil {
		t.Errorf("%s %s", d.Skills[0].InputSchema, d.Skills[0].OutputSchema)
	}
}

func TestValidateDefinition(t *testing.T) {
	if err := agents.ValidateDefinition(storetest.RawDefinition()); err != nil {
		t.Fatal(err)
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	text, blob := "x", "not base64!"
	skill := func(s beeos.Skill) func(*beeos.Definition) {
		return func(d *beeos.Definition) { d.Skills = []beeos.Skill{s} }
	}
	resource := func(r beeos.Resource) func(*beeos.Definition) {
		return func(d *beeos.Definition) { d.Resources = []beeos.Resource{r} }
	}
	for _, tt := range []struct {
		want   string
		change func(*beeos.Definition)
	}{
		{"name is missing", func(d *beeos.Definition) { d.Name = " " }},
		{"longer than 128", func(d *beeos.Definition) { d.Name = strings.Repeat("x", 129) }},
		{"control characters", func(d *beeos.Definition) { d.Name = "a\x00b" }},
		{"control characters", func(d *beeos.Definition) { d.Name = "a\u202eb" }},
		{"spaces around it", func(d *beeos.Definition) { d.Name = "a " }},
		{"use push, queue or busy_reject", func(d *beeos.Definition) { d.DeliveryMode = "pull" }},
		{"use always, before_start or never", func(d *beeos.Definition) { d.Redelivery = "often" }},
		{"use session or agent", func(d *beeos.Definition) { d.Lane = "fast" }},
		{"timeout_ms must be", func(d *beeos.Definition) { d.TimeoutMS = -1 }},
		{"timeout_ms must be", func(d *beeos.Definition) { d.TimeoutMS = agents.MaxTimeoutMS + 1 }},
		{"at most 1000 skills", func(d *beeos.Definition) { d.Skills = make([]beeos.Skill, agents.MaxSkills+1) }},
		{"capabilities must be a JSON object or array", func(d *beeos.Definition) { d.Capabilities = raw("true") }},
		{"skills[0]: the name \"\"", skill(beeos.Skill{})},
		{"skills[0]: the name \"ünder\"", skill(beeos.Skill{Name: "ünder"})},
		{"skills[0]: the name", skill(beeos.Skill{Name: strings.Repeat("x", 65)})},
		{`skill "s" is declared twice`, func(d *beeos.Definition) { d.Skills = []beeos.Skill{{Name: "s"}, {Name: "s"}} }},
		{"inputSchema is not valid JSON", skill(beeos.Skill{Name: "s", InputSchema: raw("{")})},
		{"inputSchema must be a JSON object", skill(beeos.Skill{Name: "s", InputSchema: raw("[]")})},
		{"inputSchema must be a JSON object", skill(beeos.Skill{Name: "s", InputSchema: raw("true")})},
		{`add "type": "object"`, skill(beeos.Skill{Name: "s", InputSchema: raw(`{"type":"string"}`)})},
		{`outputSchema must describe an object`, skill(beeos.Skill{Name: "s", OutputSchema: raw(`{"properties":{}}`)})},
		{"icons must be a JSON array", skill(beeos.Skill{Name: "s", Icons: raw("{}")})},
		{"annotations must be a JSON object", skill(beeos.Skill{Name: "s", Annotations: raw("[]")})},
		{"needs either uri or uriTemplate", resource(beeos.Resource{Name: "r"})},
		{"not an absolute URI", resource(beeos.Resource{URI: "notes.txt", Name: "r"})},
		{"needs a name", resource(beeos.Resource{URI: "file:///a"})},
		{"exists already", resource(beeos.Resource{URI: "beeos://agent/config", Name: "r"})},
		{"not both", resource(beeos.Resource{URI: "file:///a", Name: "r", Text: &text, Blob: &blob})},
		{"a template neither", resource(beeos.Resource{URITemplate: "file:///{a}", Name: "r", Text: &text})},
		{"not base64", resource(beeos.Resource{URI: "file:///a", Name: "r", Blob: &blob})},
		{"prompts[0] needs a name", func(d *beeos.Definition) { d.Prompts = []beeos.Prompt{{}} }},
		{"declared twice", func(d *beeos.Definition) { d.Prompts = []beeos.Prompt{{Name: "p"}, {Name: "p"}} }},
		{"its own name", func(d *beeos.Definition) {
			d.Prompts = []beeos.Prompt{{Name: "p", Arguments: []beeos.PromptArgument{{Name: "x"}, {Name: "x"}}}}
		}},
		{"messages must be a JSON array", func(d *beeos.Definition) { d.Prompts = []beeos.Prompt{{Name: "p", Messages: raw("{}")}} }},
		{"at most 1048576", func(d *beeos.Definition) { d.Instructions = strings.Repeat("x", agents.MaxDefinition) }},
	} {
		d := beeos.Definition{Name: "a"}
		tt.change(&d)
		storetest.WantCode(t, agents.ValidateDefinition(d), beeos.InvalidBody, tt.want)
	}
}
