package exec_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/exec"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

const tellsProcess = `
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
	case $line in
	*slow*)
		echo "slow begun" >&2
		while [ ! -e go ]; do sleep 0.05; done ;;
	esac
	printf '{"id":"%s","reply":"%s"}\n' "$id" "$$"
done
`

// TestOwnerRestartsProgram: a program that is to be restarted finishes what it
// works on; what comes meanwhile is answered by the next one.
func TestOwnerRestartsProgram(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.sh"), []byte(tellsProcess), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bridgetest.Journal
	id := bridgetest.Connect(t, app, &log, "clerk", func(ctx context.Context, o agent.Options) error {
		return (&exec.Options{Command: bridgetest.Command("sh", "program.sh")}).Run(ctx, settings.Bridge{Dir: dir, Agent: o})
	})
	c := client.New(app.REST, app.UserKey)
	a, err := c.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) string {
		got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: text, TimeoutMS: 60_000})
		if err != nil || got.IsError {
			t.Errorf("%s: %+v, %v", text, got, err)
			return ""
		}
		return got.Text
	}
	before := ask("hi")
	slow, next := make(chan string, 1), make(chan string, 1)
	go func() { slow <- ask("slow") }()
	log.Await(t, "slow begun")
	if err := c.RunInstance(t.Context(), a.InstanceID, "restart"); err != nil {
		t.Fatal(err)
	}
	log.Await(t, "the owner asks for a restart")
	go func() { next <- ask("hi again") }()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-slow; got != before {
		t.Errorf("what was begun was answered by %s, not by %s", got, before)
	}
	if got := <-next; got == before || got == "" {
		t.Errorf("what came later was answered by %q", got)
	}
}
