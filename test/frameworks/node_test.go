//go:build unix

package frameworks

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/npm"
)

func TestNodeClients(t *testing.T) {
	if testing.Short() {
		t.Skip("installs npm packages")
	}
	testNode(t, "node", []client{
		{name: "aisdk", refusal: ourWords},
		{name: "mcporter", refusal: "Non-200 status code (401)"}, // of the old transport, which it tries last
	})
}

// testNode runs clients whose packages a folder pins, in the Node that the
// other tests have too.
func testNode(t *testing.T, folder string, clients []client) {
	t.Helper()
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	packages, err := npm.InstallLocked(t.Context(), read(t, folder, "package.json"), read(t, folder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	app := apptest.Start(t, apptest.Config(t))
	endpoint := app.MCP + "/" + connectHelper(t, app, ping) + "/mcp"
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			script, err := os.Open("mcp_clients.mjs")
			if err != nil {
				t.Fatal(err)
			}
			defer script.Close()
			ctx, cancel := context.WithTimeout(t.Context(), runWithin)
			defer cancel()
			cmd := tools.Node(ctx, "--input-type=module", "-", c.name, endpoint, app.UserKey)
			cmd.Dir, cmd.Stdin = packages.Dir, script
			checkMCP(t, c, run(t, cmd, nil))
		})
	}
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
