package charts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// loadCompose reads files as docker compose does with them: by its own library, which
// refuses words that it does not know.
func loadCompose(t *testing.T, files ...string) (*types.Project, error) {
	t.Helper()
	for i, file := range files {
		if !filepath.IsAbs(file) {
			files[i] = filepath.Join(root, "deploy/compose", file)
		}
	}
	o, err := cli.NewProjectOptions(files, cli.WithEnv([]string{"DOMAIN=bee.example.com"}))
	if err != nil {
		return nil, err
	}
	return o.LoadProject(t.Context())
}

// TestComposeKnowsEveryWord: what Compose makes of the files has the services and
// ports that they are about.
func TestComposeKnowsEveryWord(t *testing.T) {
	for name, tt := range map[string]struct {
		files    []string
		services []string
		ports    []string // that lead to the servers
	}{
		"one server":     {[]string{"beeos.yaml"}, []string{"beeos"}, []string{"3000", "8083", "8092", "8094", "8095"}},
		"at one address": {[]string{"beeos.yaml", "domain.yaml"}, []string{"beeos"}, []string{"443", "80"}},
		"two that share": {[]string{"cluster.yaml"}, []string{"beeos-1", "beeos-2", "nats", "postgres"}, []string{"3000", "3001", "8083", "8092", "8094", "8095", "9083", "9092", "9094", "9095"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := loadCompose(t, tt.files...)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(p.Services)); !slices.Equal(got, tt.services) {
				t.Errorf("the services are %v", got)
			}
			var ports []string
			for name, s := range p.Services {
				for _, port := range s.Ports {
					ports = append(ports, port.Published)
				}
				if strings.HasPrefix(name, "beeos") && (!s.ReadOnly || s.HealthCheck == nil || s.StopGracePeriod == nil || !slices.Equal(s.Command, types.ShellCommand{"serve"})) {
					t.Errorf("%s is %+v", name, s)
				}
			}
			slices.Sort(ports)
			if slices.Sort(tt.ports); !slices.Equal(ports, tt.ports) {
				t.Errorf("the ports are %v", ports)
			}
		})
	}
}

// TestComposeRefuses: the test above sees what it is for.
func TestComposeRefuses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/compose/beeos.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "read_only:", "readonly:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCompose(t, file); err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("a word that Compose does not know: %v", err)
	}
}
