package project

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var execStart = regexp.MustCompile(`(?m)^ExecStart=(/\S+)(.*)$`)

// TestUnits has systemd read the unit that a new project gets in each language, where
// it is installed.
func TestUnits(t *testing.T) {
	if len(execs) != len(languages) {
		t.Errorf("%d languages, and %d of them say how a service runs them", len(languages), len(execs))
	}
	for lang := range languages {
		t.Run(lang, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "weather-2.service")
			f := &facts{Name: "weather-2", Lang: lang, Exec: fmt.Sprintf(execs[lang], "weather-2")}
			if err := writeTemplate(path, "agent.service", f); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			unit := string(text)
			run := execStart.FindStringSubmatch(unit)
			if run == nil || !strings.Contains(unit, "WorkingDirectory=/opt/weather-2\n") || strings.Contains(unit, "{{") {
				t.Fatalf("it runs %q:\n%s", run, unit)
			}
			if _, err := exec.LookPath("systemd-analyze"); err != nil {
				t.Log("systemd is not here to read the unit")
				return
			}
			unit = strings.Replace(unit, run[1], "/bin/true", 1) // it must be there
			if said, err := verifyUnit(t, path, unit); err != nil {
				t.Errorf("%v\n%s", err, said)
			}
			// The check itself sees what it is for.
			if _, err := verifyUnit(t, path, strings.Replace(unit, "[Service]\n", "[Service]\nTypo=yes\n", 1)); err == nil {
				t.Error("an unknown word was not noticed")
			}
		})
	}
}

func verifyUnit(t *testing.T, path, unit string) (said string, err error) {
	t.Helper()
	if err := os.WriteFile(path, []byte(unit), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
	return string(out), err
}
