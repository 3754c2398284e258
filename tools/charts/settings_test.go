package charts

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// deployments are those among what was rendered.
func deployments(t *testing.T, files map[string]string) (list []appsv1.Deployment) {
	t.Helper()
	for _, doc := range documents(files) {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
			t.Fatal(err)
		}
		if d.Kind == "Deployment" {
			list = append(list, d)
		}
	}
	return list
}

// secrets are what could be in the files that pods read.
var secrets = map[string]string{"DATABASE_URL": "postgres://beeos:secret@db/beeos", "NATS_URL": "nats://nats:4222", "S3_SECRET_KEY": "secret", "LLM_API_KEY": "secret"}

// environment is that of a pod, with files of its own.
func environment(t *testing.T, d appsv1.Deployment) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{"HOME=" + dir}
	for _, e := range d.Spec.Template.Spec.Containers[0].Env {
		value := e.Value
		if name, secret := strings.CutSuffix(e.Name, "_FILE"); secret {
			value = filepath.Join(dir, name)
			if err := os.WriteFile(value, []byte(secrets[name]), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if e.Name == "BEEOS_DATA" {
			value = dir
		}
		env = append(env, e.Name+"="+value)
	}
	return env
}

// TestProgramTakesSettings gives the program what pods have in their environment.
func TestProgramTakesSettings(t *testing.T) {
	program := filepath.Join(t.TempDir(), "beeos")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./cmd/beeos")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		files, err := render(cases[name].values)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range deployments(t, files) {
			cmd := exec.CommandContext(t.Context(), program, "config", "--json")
			cmd.Env = environment(t, d)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "unknown setting") {
				t.Errorf("%s: %s: %v\n%s", name, d.Name, err, out)
				continue
			}
			if name == "one address" {
				checkURLs(t, out)
			}
		}
	}
}

// checkURLs: surfaces are at the domain, and where it has a name for one, there.
func checkURLs(t *testing.T, said []byte) {
	t.Helper()
	var list []struct{ Env, Value string }
	if err := json.Unmarshal(said, &list); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	got := map[string]string{}
	for _, v := range list {
		got[v.Env] = v.Value
	}
	for name, want := range map[string]string{
		"WEB_PUBLIC_URL": "https://bee.example.com", "MCP_PUBLIC_URL": "https://mcp.bee.example.com", "AGENT_GATEWAY_URL": "https://bee.example.com",
		"BEEOS_ADDR": ":8080", "BEEOS_TRUSTED_PROXIES": "private",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

var (
	helmLine  = regexp.MustCompile(`(?m)^\s*helm (?:install|upgrade) \S+ deploy/helm/beeos(.*)$`)
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
)

// TestDocumentsRender: the command lines and values that documents name are good
// for the chart.
func TestDocumentsRender(t *testing.T) {
	lines, blocks := 0, 0
	for _, name := range []string{"docs/how-to/deploying.md", "docs/how-to/deploy-kubernetes.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range helmLine.FindAllStringSubmatch(string(text), -1) {
			lines++
			values, words := map[string]any{}, strings.Fields(m[1])
			for i := 0; i < len(words); i += 2 {
				if words[i] != "--set" || i+1 == len(words) {
					t.Fatalf("%s: this test reads --set NAME=VALUE, not %q", name, m[1])
				}
				if err := strvals.ParseInto(words[i+1], values); err != nil {
					t.Errorf("%s: %s: %v", name, words[i+1], err)
				}
			}
			if _, err := render(values); err != nil {
				t.Errorf("%s: %s: %v", name, m[0], err)
			}
		}
		for _, m := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			values := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(m[1]), &values); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := render(values); err != nil {
				t.Errorf("%s: %v\n%s", name, err, m[1])
			}
		}
	}
	if lines < 3 || blocks == 0 {
		t.Errorf("%d command lines and %d blocks of values were found in the documents", lines, blocks)
	}
}
