//go:build clients && unix

package pythonsdk

import (
	"context"
	"testing"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/python"
)

// TestOldestPython runs the SDK's own tests, the transcripts among them, on the oldest
// Python and with the oldest packages that it says it works with.
func TestOldestPython(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	interpreter, err := python.Find(ctx, "3.10")
	if err != nil {
		t.Fatal(err)
	}
	server, err := cluster.BuildOne(ctx, t.TempDir(), "github.com/beeos/beeos/cmd/beeos")
	if err != nil {
		t.Fatal(err)
	}
	env := newEnvironment(ctx, t, interpreter, "oldest.txt")
	run(ctx, t, env.python, "-c", "import sys; assert sys.version_info[:2] == (3, 10), sys.version")
	run(ctx, t, env.python, "-m", "pip", "install", "-q", "--no-compile", "-c", absolute(t, "oldest.txt"), "-r", absolute(t, "tests.txt"))
	runWith(ctx, t, []string{"BEEOS_BIN=" + server}, env.python, "-m", "pytest")
}
