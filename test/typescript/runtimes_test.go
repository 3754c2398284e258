//go:build clients && unix

package typescript

import (
	"os"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

// TestRuntimes: what runs on Node runs on Bun and Deno as well.
func TestRuntimes(t *testing.T) {
	manifest, err1 := os.ReadFile("testdata/runtimes/package.json")
	lock, err2 := os.ReadFile("testdata/runtimes/package-lock.json")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	installed, err := npm.InstallLocked(t.Context(), manifest, lock)
	if err != nil {
		t.Fatal(err)
	}
	node := *runtime
	t.Cleanup(func() { *runtime = node })
	for name, command := range map[string]string{
		"bun":  installed.Module("@oven/bun-linux-x64/bin/bun"),
		"deno": installed.Module("@deno/linux-x64-glibc/deno") + " run -A",
	} {
		t.Run(name, func(t *testing.T) {
			*runtime = command
			t.Run("five lines", TestFiveLines)
			t.Run("readme", TestReadme)
			t.Run("client", TestClient)
			t.Run("scenarios", TestScenarios)
			t.Run("check", TestCheck)
		})
	}
}
