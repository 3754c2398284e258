package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/yaml"

	"github.com/beeos/beeos/api"
	"github.com/beeos/beeos/test/npm"
)

var update = flag.Bool("update", false, "write openapi.json from openapi.yaml")

// expect compares what is compiled in with what the document says, or writes it
// with -update.
func expect(t *testing.T, file string, compiledIn, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(compiledIn, want) {
		t.Errorf("%s is not what openapi.yaml says; run: go test ./api -update", file)
	}
}

// inJSON is openapi.yaml in JSON: a line for each value, so that changes can be merged,
// and no indentation, which would be a quarter of it.
func inJSON(t *testing.T) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON(api.YAML)
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, raw, "", ""); err != nil {
		t.Fatal(err)
	}
	pretty.WriteByte('\n')
	return pretty.Bytes()
}

func TestJSONIsTheYAML(t *testing.T) { expect(t, "openapi.json", api.JSON, inJSON(t)) }

func TestDocumentIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.EnableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	used := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || len(op.Tags) != 1 || op.Summary == "" {
				t.Errorf("%s needs an operationId, one tag and a summary", name)
			}
			if other := used[op.OperationID]; other != "" {
				t.Errorf("%s and %s are both %s", name, other, op.OperationID)
			}
			used[op.OperationID] = name
		}
	}
}

// TestTypesAreOne: generators of typed languages make nothing useful of a value
// that is a string or an object.
func TestTypesAreOne(t *testing.T) {
	var doc any
	if err := json.Unmarshal(inJSON(t), &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if types, ok := v["type"].([]any); ok {
				if seen++; len(types) > 2 || !slices.Contains(types, any("null")) {
					t.Errorf("%s is of the types %v", path, types)
				}
			}
			for name, member := range v {
				walk(path+"/"+name, member)
			}
		case []any:
			for _, one := range v {
				walk(path, one)
			}
		}
	}
	walk("", doc)
	if seen == 0 {
		t.Error("the document has no list of types, not even one with null")
	}
}

// TestLint asks the linter that people who generate clients use, too.
func TestLint(t *testing.T) {
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := tools.Node(t.Context(), tools.Module("@redocly/cli/bin/cli.js"), "lint", "--format=stylish", "openapi.yaml")
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); failed || bytes.Contains(out, []byte("warning")) {
		t.Errorf("lint: %v\n%s", err, out)
	} else if err != nil {
		t.Fatal(err)
	}
}

func TestPage(t *testing.T) {
	page, err := api.Page()
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	doc, err := openapi3.NewLoader().LoadFromData(api.YAML)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !strings.Contains(text, `id="`+op.OperationID+`"`) || !strings.Contains(text, path) {
				t.Errorf("%s %s is not on the page", method, path)
			}
		}
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if ids[m[1]] {
			t.Errorf("two elements are called %q", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if anchor, ok := strings.CutPrefix(m[1], "#"); ok && !ids[anchor] {
			t.Errorf("a link leads to #%s, which is nowhere", anchor)
		} else if !ok && m[1] != "/openapi.json" {
			t.Errorf("a link leads to %s", m[1])
		}
	}
	text = strings.Replace(text, `<script src="/docs/page.js" defer></script>`, "", 1) // our own, and the only one
	for _, bad := range []string{"<script", "src=", "@import", "url(", "ZgotmplZ", "&lt;nil&gt;", "[object", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	if policy := api.PagePolicy(); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("policy %q", policy)
	}
}

func TestPageEscapes(t *testing.T) {
	page, err := api.RenderPage([]byte(`{"info":{"title":"<b>","description":"a <i> ` + "`<u>`" + `"},"tags":[{"name":"x"}],
		"paths":{"/<p>":{"get":{"tags":["x"],"operationId":"\"q","summary":"<s>","responses":{"200":{"description":"<d>"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"<b>", "<i>", "<u>", "<s>", "<d>", "/<p>", `id=""q"`} {
		if strings.Contains(string(page), raw) {
			t.Errorf("%s came through as it is", raw)
		}
	}
}
