package bridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestFileDeclaresTools: what a program offers may stand in the file.
func TestFileDeclaresTools(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	path := filepath.Join(t.TempDir(), "beeos.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"agents:\n  - {name: a, mcp: http://localhost:1/mcp, declare: {version: '1'}}": "declare is for exec and http",
		"agents:\n  - {name: a, exec: cat, declare: {tols: []}}":                       `unknown field "tols"`,
	} {
		write(text)
		if _, err := bridge.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	write("agents:\n  - name: clerk\n    exec: cat\n    declare:\n      tools:\n        - name: report\n          description: Writes one.\n          inputSchema: {type: object, required: [n]}\n")
	f, err := bridge.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	connected, done := make(chan string, 1), make(chan error, 1)
	o := agent.Options{Gateway: app.Agents, Key: app.UserKey, Log: bridgetest.NewLogger(&bridgetest.Journal{})}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	go func() { done <- f.Run(t.Context(), o, func(_, id string) { connected <- id }) }()
	t.Cleanup(func() { <-done }) // the context of the test is over by then
	a := bridgetest.AwaitTool(t, client.New(app.REST, app.UserKey), <-connected, "report")
	if a.Skills[0].Description != "Writes one." || !strings.Contains(string(a.Skills[0].InputSchema), `"required":["n"]`) {
		t.Errorf("it is %+v", a.Skills[0])
	}
}
