//go:build adapters && unix

package pythonsdk

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/cluster"
	"github.com/beeos/beeos/test/python"
)

// adaptersWithin is for one framework; most of it is its installation.
const adaptersWithin = 15 * time.Minute

// TestAdapters serves what each framework makes, with a model that follows a
// script, to a real server. The frameworks exclude each other: each file in
// adapters is an environment of its own.
func TestAdapters(t *testing.T) {
	server, err := cluster.BuildOne(t.Context(), t.TempDir(), "github.com/beeos/beeos/cmd/beeos")
	if err != nil {
		t.Fatal(err)
	}
	lists, err := filepath.Glob("adapters/*.txt")
	if err != nil || len(lists) == 0 {
		t.Fatalf("no frameworks: %v", err)
	}
	for _, list := range lists {
		framework := strings.TrimSuffix(filepath.Base(list), ".txt")
		t.Run(framework, func(t *testing.T) { testFramework(t, server, framework, list) })
	}
}

func testFramework(t *testing.T, server, framework, list string) {
	ctx, cancel := context.WithTimeout(t.Context(), adaptersWithin)
	defer cancel()
	requirements, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	env, err := python.Install(ctx, requirements)
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{
		"BEEOS_BIN=" + server,
		"BEEOS_FRAMEWORK=" + framework,
		"PYTHONDONTWRITEBYTECODE=", // compiling a framework takes longer than its tests
		"PYTHONPYCACHEPREFIX=" + filepath.Join(filepath.Dir(env), "compiled"), // and not in the folder of the SDK
	}
	runWith(ctx, t, settings, env, "-m", "pytest", "-o", "pythonpath=src", "tests/adapters")
}
