package sdk

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/beeos/beeos/api"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/python"
)

// pythonTools are openapi-generator, whose package brings its jar, in the version
// that the published SDK was made with, and what its Python clients import.
var pythonTools = []string{"openapi-generator-cli==7.14.0", "pydantic==2.13.4", "python-dateutil==2.9.0.post0", "typing-extensions==4.16.0", "urllib3==2.8.0"}

// TestGeneratedPythonClient has the published SDK's classes, and its calls work.
func TestGeneratedPythonClient(t *testing.T) {
	tool := installPython(t, pythonTools...)
	dir := generate(t, tool, "-g", "python", "--package-name", "beeos_sdk")
	classes := regexp.MustCompile(`(?m)^class (\w+)`)
	methods := regexp.MustCompile(`(?m)^    def ([a-z]\w*)\(`)
	for class, wanted := range published(t) {
		if class == "models" {
			for _, name := range wanted {
				if _, err := os.Stat(filepath.Join(dir, "beeos_sdk", "models", name+".py")); err != nil {
					t.Errorf("the published SDK has the model %s: %v", name, err)
				}
			}
			continue
		}
		file := strings.ToLower(strings.TrimSuffix(class, "Api")) + "_api.py"
		text := read(t, filepath.Join(dir, "beeos_sdk", "api", file))
		if !slices.Contains(submatches(classes, text), class) {
			t.Errorf("%s has the classes %v, want %s", file, submatches(classes, text), class)
		}
		has := submatches(methods, text)
		for _, name := range wanted {
			if !slices.Contains(has, name) {
				t.Errorf("the published %s has %s, and the generated one does not", class, name)
			}
		}
	}

	app := apptest.Start(t, apptest.Config(t))
	cmd := exec.CommandContext(t.Context(), tool, "drive.py", app.REST, app.UserKey, app.AgentID)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	const want = `agents ['echo']
agent private
patched False
invoked you said: hi
task True
message one two
listed True
conversation talk
capabilities True
operations []
refused agent_not_found
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGeneratedGoClient has the published SDK's services, and compiles.
func TestGeneratedGoClient(t *testing.T) {
	tool := installPython(t, pythonTools...)
	dir := generate(t, tool, "-g", "go", "--package-name", "beeos", "--additional-properties=enumClassPrefix=true", "--global-property=apiTests=false,modelTests=false,apiDocs=false,modelDocs=false,apis,models,supportingFiles")
	for class, wanted := range published(t) {
		if class == "models" {
			for _, name := range wanted {
				if _, err := os.Stat(filepath.Join(dir, "model_"+name+".go")); err != nil {
					t.Errorf("the published SDK has the model %s: %v", name, err)
				}
			}
			continue
		}
		text := read(t, filepath.Join(dir, "api_"+strings.ToLower(strings.TrimSuffix(class, "Api"))+".go"))
		service := strings.TrimSuffix(class, "Api") + "APIService"
		for _, name := range wanted {
			if !strings.Contains(text, "func (a *"+service+") "+camel(name)+"(") {
				t.Errorf("the published %s has %s, and the generated one does not", service, camel(name))
			}
		}
	}
	compileGo(t, dir)
}

// TestOapiCodegen: the other generator that Go programs use makes code that
// compiles. Its types for answers need a suffix of their own, since the schemas of
// the contract end with Response, too.
func TestOapiCodegen(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openapi.json"), api.JSON)
	write(t, filepath.Join(dir, "config.yaml"), []byte("package: beeos\ngenerate: {models: true, client: true}\noutput-options: {response-type-suffix: Answer}\noutput: "+filepath.Join(dir, "client.go")+"\n"))
	write(t, filepath.Join(dir, "go.mod"), []byte("module generated\n\ngo 1.26.0\n\nrequire github.com/oapi-codegen/runtime v1.8.0\n"))
	run(t, filepath.Join("..", ".."), exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "oapi-codegen", "-config", filepath.Join(dir, "config.yaml"), filepath.Join(dir, "openapi.json")))
	for _, name := range []string{"ListAgents", "InvokeAgent", "RegisterTaskWebhook", "GetRuntimeCapabilities"} {
		if !strings.Contains(read(t, filepath.Join(dir, "client.go")), "func (c *Client) "+name+"(") {
			t.Errorf("the client has no %s", name)
		}
	}
	compileGo(t, dir)
}

// compileGo compiles generated code, which is a module of its own.
func compileGo(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off")
		run(t, dir, cmd)
	}
}

// generate runs openapi-generator and returns the folder with its work.
func generate(t *testing.T, python string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		t.Fatal("openapi-generator runs on Java; run scripts/setup.sh, or: apt-get install -y default-jre-headless")
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openapi.json"), api.JSON)
	run(t, dir, exec.CommandContext(ctx, filepath.Join(filepath.Dir(python), "openapi-generator-cli"), append([]string{"generate", "-i", "openapi.json", "-o", "client"}, args...)...))
	return filepath.Join(dir, "client")
}

// installPython returns a Python that has packages.
func installPython(t *testing.T, packages ...string) string {
	t.Helper()
	path, err := python.Install(t.Context(), []byte(strings.Join(packages, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// published reads which names the published SDK has: class -> methods.
func published(t *testing.T) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	for line := range strings.Lines(read(t, "published.txt")) {
		if class, methods, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			names[class] = strings.Fields(methods)
		}
	}
	if len(names) != 8 {
		t.Fatalf("published.txt has %d classes", len(names))
	}
	return names
}

// camel is a name in Go's spelling.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func submatches(re *regexp.Regexp, text string) (found []string) {
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
