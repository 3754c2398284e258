package rest_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/beeos/beeos"
)

// probe is an operation that takes a body, and one that it accepts or refuses
// for reasons of its own.
type probe struct {
	id, method, path string
	schema           *openapi3.Schema
	body             map[string]any
}

// probes are all operations that take a body, on things of the caller's.
func (s *stack) probes(on things) (all []probe) {
	s.t.Helper()
	theContract().operations(func(id, method, path string, op *openapi3.Operation) {
		if op.RequestBody == nil {
			return
		}
		for name, value := range on {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		}
		p := probe{id: id, method: method, path: path, schema: op.RequestBody.Value.Content["application/json"].Schema.Value}
		text := strings.NewReplacer("TASK", on["taskId"], "AGENT", on["agentId"]).Replace(bodies[id])
		if err := json.Unmarshal([]byte(text), &p.body); err != nil {
			s.t.Fatalf("%s: %v", id, err)
		}
		all = append(all, p)
	})
	return all
}

// with is what the server says when one member of the body is another.
func (s *stack) with(p probe, member string, value any) answer {
	s.t.Helper()
	body := maps.Clone(p.body)
	body[member] = value
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	resp := s.send(p.method, p.path, s.key, string(raw), "Idempotency-Key", beeos.NewID())
	defer resp.Body.Close()
	return s.read(p.method, p.path, resp)
}

// TestDocumentTellsWhatBodiesMeet: whoever sends a body may meet 400, 413, 415 and
// 429, and a member that the server does not know is refused exactly where the
// document says so.
func TestDocumentTellsWhatBodiesMeet(t *testing.T) {
	s := start(t)
	s.echo()
	on := s.all(s.agent)
	theContract().operations(func(id, _, _ string, op *openapi3.Operation) {
		statuses := op.Responses.Map()
		want := []string{"429", "5XX"}
		if op.RequestBody != nil {
			want = append(want, "400", "413", "415")
		}
		for _, status := range want {
			if statuses[status] == nil {
				t.Errorf("%s does not say when it answers %s", id, status)
			}
		}
	})
	for _, p := range s.probes(on) {
		a := s.with(p, "nobody_knows_this", true)
		refused := a.code == "invalid_body" && strings.Contains(a.text, "unknown member")
		told := p.schema.AdditionalProperties.Has != nil && !*p.schema.AdditionalProperties.Has
		if refused != told {
			t.Errorf("%s: an unknown member is refused: %v, the document says: %v (%d %s)", p.id, refused, told, a.status, a.raw)
		}
		resp := s.send(p.method, p.path, s.key, "message", "Content-Type", "text/plain", "Idempotency-Key", beeos.NewID())
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%s takes text/plain: %d", p.id, resp.StatusCode)
		}
	}
}

// exampleOf is an element of a list with text in every member that is text.
func exampleOf(schema *openapi3.Schema) any {
	if !schema.Type.Is("object") {
		return "x"
	}
	one := map[string]any{}
	for name, member := range schema.Properties {
		if member.Value.Type.Is("string") {
			one[name] = "x"
		}
	}
	return one
}

// refersToThings are members whose values name things, so that any value which
// names none is refused.
var refersToThings = strings.Fields("agent_id subject_id in_reply_to target_message_id modelOverrideId modelPrimary agentFramework")

// TestDocumentTellsMaxima: what is one more than the document allows is refused,
// and nothing is refused for its size of which the document says no maximum.
func TestDocumentTellsMaxima(t *testing.T) {
	s := start(t)
	s.echo()
	on := s.all(s.agent)
	tried := 0
	for _, p := range s.probes(on) {
		for member, ref := range p.schema.Properties {
			if slices.Contains(refersToThings, member) || ref.Value.Type == nil {
				continue
			}
			schema := ref.Value
			var most any
			known := true
			switch {
			case len(schema.Enum) > 0 || schema.Format == "date-time":
				continue
			case schema.Type.Includes("string"):
				n := 20_000
				if known = schema.MaxLength != nil; known {
					n = int(*schema.MaxLength) + 1
				}
				most = strings.Repeat("x", n)
			case schema.Type.Includes("integer"):
				n := float64(1 << 50)
				if known = schema.Max != nil; known {
					n = *schema.Max + 1
				}
				most = int64(n)
			case schema.Type.Is("array"):
				n := 500
				if known = schema.MaxItems != nil; known {
					n = int(*schema.MaxItems) + 1
				}
				most = slices.Repeat([]any{exampleOf(schema.Items.Value)}, n)
			default:
				continue
			}
			tried++
			a := s.with(p, member, most)
			refused := a.status == 400 || a.status == 413
			if refused != known {
				t.Errorf("%s: %s of the greatest size is refused: %v, the document has a maximum: %v (%d %.300s)", p.id, member, refused, known, a.status, a.raw)
			}
		}
	}
	theContract().operations(func(id, method, path string, op *openapi3.Operation) {
		for _, p := range op.Parameters {
			if p.Value.In != "query" || !p.Value.Schema.Value.Type.Is("integer") {
				continue
			}
			tried++
			schema := p.Value.Schema.Value
			n := int64(1 << 62)
			if schema.Max != nil {
				n = int64(*schema.Max) + 1
			}
			for value, refused := range map[int64]bool{n: schema.Max != nil, int64(*cmp.Or(schema.Min, new(float64))) - 1: schema.Min != nil} {
				a := s.call(id, method, path+"?"+p.Value.Name+"="+strconv.FormatInt(value, 10), op, on, s.key)
				if (a.status == http.StatusBadRequest) != refused {
					t.Errorf("%s: %s=%d: %d %s, and the document's bounds refuse it: %v", id, p.Value.Name, value, a.status, a.raw, refused)
				}
			}
		}
	})
	if tried < 50 {
		t.Errorf("only %d members were tried", tried)
	}
}

// TestSkillShowsItsDescription: what was deployed can be read, and deployed again
// without losing anything.
func TestSkillShowsItsDescription(t *testing.T) {
	s := start(t)
	server := func(description string) string {
		return `{"name":"x","mcpServers":{"books":{"command":"sqlite","description":"` + description + `"}}}`
	}
	made := s.deploy(server("Looks things up."))
	if got := string(made.MCPServers["books"]); !strings.Contains(got, `"description":"Looks things up."`) {
		t.Errorf("shown: %s", got)
	}
	if a := s.do("POST", "/api/v1/instances", s.key, server(strings.Repeat("x", 1025))); a.code != "invalid_param" {
		t.Errorf("a long description: %d %s", a.status, a.raw)
	}
}

// TestPartsHaveTypes: what is no part is refused, and not passed on as one.
func TestPartsHaveTypes(t *testing.T) {
	s := start(t)
	s.echo()
	path := "/channels/" + s.all(s.agent)["channel"] + "/messages"
	for _, part := range []string{`""`, `{}`, `{"type":1}`, `null`, `[]`} {
		if a := s.do("POST", path, s.key, `{"body":"x","parts":[`+part+`]}`); a.code != "invalid_param" {
			t.Errorf("%s: %d %s", part, a.status, a.raw)
		}
	}
}
