package deploy

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/beeos/beeos/internal/config"
)

func parse(t *testing.T, path string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(read(t, path)), &v); err != nil || len(v) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// TestComposeFiles: each server is the user's own, cannot write to its root, and is
// asked how it is.
func TestComposeFiles(t *testing.T) {
	for path, servers := range map[string]int{"deploy/compose/beeos.yaml": 1, "deploy/compose/cluster.yaml": 2} {
		services, _ := parse(t, path)["services"].(map[string]any)
		found := 0
		for name, s := range services {
			service, _ := s.(map[string]any)
			if !strings.HasPrefix(name, "beeos") {
				continue
			}
			found++
			if service["read_only"] != true || service["healthcheck"] == nil || service["stop_grace_period"] == nil {
				t.Errorf("%s: %s is %v", path, name, service)
			}
		}
		if found != servers {
			t.Errorf("%s has %d servers", path, found)
		}
	}
}

// TestComposeDomain: with the second file the server's two listeners are what the
// machine's ports 443 and 80 lead to, and nothing else is open.
func TestComposeDomain(t *testing.T) {
	services, _ := parse(t, "deploy/compose/domain.yaml")["services"].(map[string]any)
	first, _ := parse(t, "deploy/compose/beeos.yaml")["services"].(map[string]any)
	server, _ := services["beeos"].(map[string]any)
	if len(services) != 1 || server == nil || first["beeos"] == nil {
		t.Fatalf("%v", services)
	}
	env, _ := server["environment"].(map[string]any)
	domain, _ := env["BEEOS_DOMAIN"].(string)
	addrs, _ := env["BEEOS_ADDR"].(string)
	cfg := config.Default(false)
	cfg.Domain, cfg.Addr = []string{"bee.example.com"}, strings.Split(addrs, ",")
	if err := cfg.Validate(); err != nil || !strings.HasPrefix(domain, "${DOMAIN:?") {
		t.Errorf("%q at %q: %v", domain, addrs, err)
	}
	var want []any
	for i, port := range []string{"443", "80"} {
		want = append(want, port+cfg.Addr[i])
	}
	if diff := cmp.Diff(want, server["ports"]); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(read(t, "deploy/compose/domain.yaml"), "ports: !override\n") {
		t.Error("the ports of beeos.yaml would stay open")
	}
}

var value = regexp.MustCompile(`\.Values\.([A-Za-z0-9.]+)`)

// TestChartValues: templates use what values.yaml has, and the schema knows all of
// it. Rendering is left to make packages, as Helm is large.
func TestChartValues(t *testing.T) {
	const chart = "deploy/helm/beeos/"
	if c := parse(t, chart+"Chart.yaml"); c["name"] != "beeos" || c["apiVersion"] != "v2" {
		t.Errorf("%v", c)
	}
	values := parse(t, chart+"values.yaml")
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal([]byte(read(t, chart+"values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	for name := range values {
		if schema.Properties[name] == nil {
			t.Errorf("the schema does not know %s", name)
		}
	}
	templates, err := filepath.Glob(filepath.Join(root, chart, "templates", "*"))
	if err != nil || len(templates) < 4 {
		t.Fatal(templates, err)
	}
	optional := []string{"nameOverride", "fullnameOverride"}
	used := map[string]bool{}
	for _, file := range templates {
		name, _ := filepath.Rel(root, file)
		for _, m := range value.FindAllStringSubmatch(read(t, name), -1) {
			first, rest, nested := strings.Cut(strings.TrimSuffix(m[1], "."), ".")
			used[first] = true
			if slices.Contains(optional, first) {
				continue
			}
			inner, isMap := values[first].(map[string]any)
			_, known := values[first]
			if isMap && nested {
				_, known = inner[rest]
			}
			if !known {
				t.Errorf("%s uses %s, which values.yaml does not have", name, m[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !used[name] {
			t.Errorf("no template uses %s", name)
		}
	}
}

// TestReleaseProgram runs the tests of the program that makes releases, which is in
// a module of its own.
func TestReleaseProgram(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "test", "-C", filepath.Join(root, "tools"), "./release").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
