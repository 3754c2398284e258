package exec_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

const declares = `
printf '%s\n' '{"declare":{"version":"7","tools":[{"name":"report","description":"Writes one.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}],"prompts":[{"name":"greet"}],"resources":[{"uri":"notes://today","name":"notes"}]}}'
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
	case $line in
	*'"tool":"report"'*)
		printf 'a,b\n' >report.csv
		printf '{"id":"%s","attach":[{"path":"report.csv","content_type":"text/csv"},{"name":"note.txt","text":"hi"}],"reply":"written"}\n' "$id" ;;
	*)
		printf '{"id":"%s","attach":[{"path":"missing.csv"}],"reply":"never"}\n' "$id" ;;
	esac
done
`

// TestProgramDeclaresToolsAndAttachesFiles: the first line of a program says what
// it offers, callers see and use it, and files go along with its answers.
func TestProgramDeclaresToolsAndAttachesFiles(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.sh"), []byte(declares), 0o600); err != nil {
		t.Fatal(err)
	}
	id := bridgetest.Connect(t, app, &bridgetest.Journal{}, "clerk", func(ctx context.Context, o agent.Options) error {
		return (&exec.Options{Command: bridgetest.Command("sh", "program.sh")}).Run(ctx, settings.Bridge{Dir: dir, Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	a := bridgetest.AwaitTool(t, c, id, "report")
	if a.Version != "7" || a.Skills[0].Description != "Writes one." {
		t.Errorf("it is %+v", a)
	}
	if _, err := c.CallTool(t.Context(), a, "report", json.RawMessage(`{"n":"one"}`)); err == nil {
		t.Error("arguments that do not fit the schema were passed on")
	}
	got, err := c.CallTool(t.Context(), a, "report", json.RawMessage(`{"n":1}`))
	if err != nil || got.IsError || !strings.Contains(got.Text(), "written") {
		t.Fatalf("%+v, %v", got, err)
	}
	if whole, _ := json.Marshal(got); !strings.Contains(string(whole), "report.csv") || !strings.Contains(string(whole), "note.txt") {
		t.Errorf("the answer has no files: %s", whole)
	}
	if got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "other"}); err != nil || !got.IsError || !strings.Contains(got.Text, "cannot be attached") {
		t.Errorf("a file that is not there: %+v, %v", got, err)
	}
}
