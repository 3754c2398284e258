// Package deploy checks what BeeOS is shipped with and nothing else runs: the unit
// (unit_test.go), the installer (install_test.go), the files for Compose and
// Kubernetes and the program that makes releases (files_test.go). What takes long is
// behind the build tag release (release_test.go): packages, also one over an older
// one (upgrade_test.go), the image under load (image_test.go, worker_test.go), the
// console (pages_test.go), and the way from nothing to an address (newcomer_test.go).
// make packages runs it.
package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var setting = regexp.MustCompile(`\b(?:BEEOS|MCP|A2A|OPENAPI|AGENT_GATEWAY|WEB|DATABASE|NATS|LOG|S3|LLM)_[A-Z_]*[A-Z]\b`)

// TestSettingsExist: what files for others set is read by somebody.
func TestSettingsExist(t *testing.T) {
	known := setting.FindAllString(read(t, "docs/reference/configuration.md"), -1)
	for _, pattern := range []string{"deploy/*/*", "deploy/helm/beeos/*", "deploy/helm/beeos/templates/*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.IsDir() || strings.Contains(file, "grafana") || strings.Contains(file, "prometheus") {
				continue
			}
			name, _ := filepath.Rel(root, file)
			for _, found := range setting.FindAllString(read(t, name), -1) {
				if !slices.Contains(known, strings.TrimSuffix(found, "_FILE")) {
					t.Errorf("%s sets %s, which nobody reads", name, found)
				}
			}
		}
	}
}

// TestVersionsAgree: images and charts are of this version.
func TestVersionsAgree(t *testing.T) {
	for file, words := range map[string]string{
		"deploy/helm/beeos/Chart.yaml":  "appVersion: " + beeos.Version + "\n",
		"deploy/compose/beeos.yaml":     "VERSION:-" + beeos.Version + "}",
		"deploy/compose/cluster.yaml":   "VERSION:-" + beeos.Version + "}",
		"deploy/packages/nfpm.yaml":     "@VERSION@",
		"deploy/systemd/beeos.service":  "ExecStart=/usr/bin/beeos serve",
		"deploy/systemd/beeos.sysusers": "u beeos ",
	} {
		if !strings.Contains(read(t, file), words) {
			t.Errorf("%s does not say %q", file, words)
		}
	}
}
