package hands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	// The program under test is built beside this binary. Importing it as well
	// tells go test that yesterday's result is none of today's program.
	_ "github.com/beeos/beeos/internal/cli"
)

// binary is the program under test, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "beeos-hands-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "beeos")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "github.com/beeos/beeos/cmd/beeos")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program under test: %v\n%s", err, out)
		return 1
	}
	defer chromium.Close()
	return m.Run()
}
