package bridge

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

func writeAgents(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, []byte("agents:\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadBuiltins(t *testing.T) {
	path := writeAgents(t, `
  - name: clerk
    prompt: You file invoices.
    model: small
    models: [large]
    fallbacks: [local/tiny]
    limits: {turns: 5, time: 90s}
    skills:
      files:
        url: https://files.example/mcp
        auto_approve: true
        tools: {delete: {auto_approve: false}}
        offer: [list]
        auth: {grant: client_credentials, client_id: clerk, private_key: "${file:key.pem}", scopes: [a, b]}
  - {name: other, exec: "${env:NOT_LOOKED_AT}"}
`)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "key.pem"), []byte("PEM\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, others, err := ReadBuiltins(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []BuiltinAgent{{
		Name: "clerk", Model: "small", Prompt: "You file invoices.", Models: []string{"large"}, Fallbacks: []string{"local/tiny"},
		Limits: BuiltinLimits{Turns: 5, Time: upstream.Duration(90e9), Seconds: 90},
		Skills: map[string]json.RawMessage{"files": json.RawMessage(`{"url":"https://files.example/mcp","autoApprove":true,"tools":{"delete":{"autoApprove":false}},"offer":["list"],` +
			`"auth":{"grant":"client_credentials","clientId":"clerk","privateKey":"PEM","scopes":["a","b"]}}`)},
	}}
	if d := cmp.Diff(want, got); d != "" || !cmp.Equal(others, []string{"other"}) {
		t.Error(d, others)
	}
	f, err := ReadFile(path)
	if err != nil || len(f.entries) != 1 || f.entries[0].Name != "other" || !cmp.Equal(f.Builtins(), []string{"clerk"}) {
		t.Errorf("to connect: %+v, %v", f, err)
	}
}

// TestReadBuiltinsComplains: the message says in which line, and no secret.
func TestReadBuiltinsComplains(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no name":           {"  - prompt: x\n", "line 2: the agent has no name"},
		"twice":             {"  - {name: a, prompt: x}\n  - {name: a, exec: x}\n", `line 3: there is an agent "a" already`},
		"runs here":         {"  - {name: a, prompt: x, mcp: y, dir: z}\n", "leave out mcp, dir, or the prompt"},
		"key":               {"  - {name: a, prompt: x, key: \"${env:X}\"}\n", "line 2: "},
		"no prompt":         {"  - {name: a, exec: x, skills: {f: {url: y}}}\n", "has skills and no prompt"},
		"empty skill":       {"  - name: a\n    prompt: x\n    skills: {f: }\n", `the skill "f" has neither`},
		"policy of nothing": {"  - name: a\n    prompt: x\n    skills: {f: {url: y, tools: {t: {}}}}\n", `tool "t"`},
		"unknown in auth":   {"  - name: a\n    prompt: x\n    skills:\n      f:\n        auth: {clientSecret: hunter2}\n", `line 6: there is no field "clientSecret"`},
		"literal secret":    {"  - name: a\n    prompt: x\n    skills:\n      f:\n        auth: {client_secret: hunter2}\n", "line 6: a secret is not allowed"},
		"half literal":      {"  - name: a\n    prompt: x\n    skills:\n      f:\n        auth: {client_secret: \"hunter2${env:X}\"}\n", "${env:NAME} or ${file:PATH}"},
		"missing file":      {"  - name: a\n    prompt: x\n    skills:\n      f:\n        auth: {client_secret: \"${file:none}\"}\n", "skill f: "},
		"duration":          {"  - {name: a, prompt: x, limits: {time: soon}}\n", "line 2: \"soon\" is not a duration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ReadBuiltins(writeAgents(t, c.text))
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
