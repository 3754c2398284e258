package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
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

func TestReadFileComplains(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ text, want string }{
		{"", "has no agents"},
		{"agents: []\n", "has no agents"},
		{"agents:\n  - name: a\n    htpp: http://x\n", `line 3: there is no field "htpp"`},
		{"agent: []\n", `line 1: there is no field "agent"`},
		{"agents:\n  - http: http://x\n", "line 2: the agent has no name"},
		{"agents:\n  - name: a\n    http: http://x\n    exec: ./y\n", `line 2: the agent "a" needs exactly one of`},
		{"agents:\n  - name: a\n    http: http://x\n\n  - name: b\n", `line 5: the agent "b" needs exactly one of`},
		{"agents:\n  - name: a\n    http: x\n", "line 2: http must be an http:// or https:// address"},
		{"agents:\n  - {name: a, exec: x}\n  - {name: a, exec: y}\n", `line 3: there is an agent "a" already`},
		{"agents:\n  - name: a\n    openai: http://x/v1\n", "line 2: openai names no model"},
		{"agents:\n  - {name: a, openai: http://x/v1, model: m, key: " + bridgetest.Secret + "}\n", "line 2: a secret is not allowed in this file"},
		{"agents:\n  - {name: a, openai: http://x/v1, model: m, key: '${env:BRIDGE_TEST_NONE}'}\n", "line 2: key: the environment variable BRIDGE_TEST_NONE is not set"},
		{"agents:\n  - {name: a, http: http://x, headers: {A: '${file:none}'}}\n", "line 2: header A: read a secret"},
		{"agents:\n  - {name: a, http: http://x, headers: {A: '${vault:x}'}}\n", "neither ${env:NAME} nor ${file:PATH}"},
		{"agents:\n  - {name: a, http: http://x, timeout: soon}\n", `line 2: "soon" is not a duration`},
		{"agents:\n  - name: a\n    name: b\n", "line 3: mapping key"},
		{"agents:\n\t- name: a\n", "line 2"},
	} {
		path := filepath.Join(dir, "beeos.yaml")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bridge.ReadFile(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), bridgetest.Secret) {
			t.Errorf("%q:\n%v, want %q", test.text, err, test.want)
		}
	}
}

// TestFileRunsItsAgents runs two agents from one file, with their secrets.
func TestFileRunsItsAgents(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"reply":"%v %s"}`, r.Header.Get("X-Key") == bridgetest.Secret, r.Header.Get("X-Region"))
	}))
	t.Cleanup(endpoint.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"key": bridgetest.Secret + "\n",
		"program": `#!/bin/sh
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
	echo "{\"id\":\"$id\",\"reply\":\"$GREETING\"}"
done
`,
		"beeos.yaml": "agents:\n  - name: bot\n    description: An endpoint.\n    identity: " + filepath.Join(dir, "bot.json") + "\n    http: " + endpoint.URL +
			"\n    headers: {X-Key: '${file:key}', X-Region: eu}\n    timeout: 30s\n" +
			"  - name: program\n    identity: " + filepath.Join(dir, "program.json") + "\n    exec: [./program]\n    env: {GREETING: 'hello ${env:BRIDGE_TEST_WHOM}'}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("BRIDGE_TEST_WHOM", "you")
	t.Chdir(dir)
	f, err := bridge.ReadFile("beeos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	type arrival struct{ name, id string }
	arrived, done := make(chan arrival, 16), make(chan error, 1)
	var log bridgetest.Journal
	go func() { // awaited below
		o := agent.Options{Gateway: app.Agents, Key: app.UserKey, Log: slog.New(slog.NewTextHandler(&log, nil))}
		done <- f.Run(ctx, o, func(name, id string) { arrived <- arrival{name, id} })
	}()
	c := client.New(app.REST, app.UserKey)
	want := map[string]string{"bot": "true eu", "program": "hello you"}
	for range want {
		a := <-arrived
		got, err := c.Invoke(t.Context(), a.id, client.InvokeRequest{Message: "hi"})
		if err != nil || got.Text != want[a.name] {
			t.Errorf("%s: %+v, %v, want %q", a.name, got, err, want[a.name])
		}
	}
	cancel()
	if err := <-done; err != nil || strings.Contains(log.String(), bridgetest.Secret) {
		t.Errorf("%v\n%s", err, log.String())
	}
}
