//go:build fuzz

package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/api"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// fuzzSeconds is how long requests are made up, all in all.
const fuzzSeconds = "90"

// TestSchemathesis makes requests up from the document, good and bad ones, and
// wants answers that the document has: no 5XX but those that it explains, no
// status, header or body that it does not tell. Streams never end, and whoever
// deletes the agent or its conversation or revokes the key has nothing left to try.
func TestSchemathesis(t *testing.T) {
	python := installPython(t, "schemathesis==4.32.5")
	app := apptest.Start(t, apptest.Config(t))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "openapi.json"), api.JSON)
	write(t, filepath.Join(dir, "schemathesis.toml"), []byte(parameters(t, app)))
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(python), "st"), "run", "openapi.json",
		"--url", app.REST, "-H", "Authorization: Bearer "+app.UserKey, "--max-time", fuzzSeconds, "--request-timeout", "20",
		"--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--suppress-health-check", "all",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"--exclude-operation-id-regex", "^(stream.*|waitReply|deleteAgent|deleteConversation|closeChannel|revokeApiKey|destroyInstance)$")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
}

// parameters are things that paths may name, so that requests get further than
// to a 404.
func parameters(t *testing.T, app *apptest.App) string {
	t.Helper()
	c := client.New(app.REST, app.UserKey)
	conv, err := c.CreateConversation(t.Context(), app.AgentID, "fuzz")
	if err != nil {
		t.Fatal(err)
	}
	message, err := c.Say(t.Context(), app.AgentID, conv.ID, "hello")
	if err != nil {
		t.Fatal(err)
	}
	hook, err := c.AddWebhook(t.Context(), app.AgentID, message, client.WebhookRequest{URL: "http://127.0.0.1:9/"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("[parameters]\nagentId = %q\nconvId = %q\nconversationId = %q\nchannel = %q\ntaskId = %q\nwebhookId = %q\n", app.AgentID, conv.ID, conv.ID, conv.ID, message, hook.ID)
}
