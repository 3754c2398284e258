//go:build unix

package pythonsdk

import (
	"archive/zip"
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/beeos/beeos/test/python"
)

//go:embed requirements.txt
var requirements []byte

// environment is where the SDK is tried.
type environment struct {
	tools  string // a Python that builds and checks it
	python string // one that has its wheel, and what that depends on
	wheel  string
}

// newEnvironment builds the wheel and the source archive, and installs the wheel for
// an interpreter, with what it depends on as the constraints say.
func newEnvironment(ctx context.Context, t *testing.T, interpreter, constraints string) environment {
	t.Helper()
	tools, err := python.Install(ctx, requirements)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := environment{tools: tools, python: filepath.Join(dir, "venv", "bin", "python")}
	dist := filepath.Join(dir, "dist")
	run(ctx, t, tools, "-m", "hatchling", "build", "-d", dist)
	env.wheel = findOne(t, dist, "beeos-*.whl")
	compareWithSources(ctx, t, tools, env.wheel, findOne(t, dist, "beeos-*.tar.gz"))
	if out, err := exec.CommandContext(ctx, interpreter, "-m", "venv", filepath.Join(dir, "venv")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run(ctx, t, env.python, "-m", "pip", "install", "-q", "--no-compile", "-c", absolute(t, constraints), env.wheel)
	run(ctx, t, env.python, "-c", "import beeos, pathlib; assert (pathlib.Path(beeos.__file__).parent / 'py.typed').exists()")
	return env
}

// compareWithSources makes a wheel of the source archive: it has the files of the
// one that was made of the folder.
func compareWithSources(ctx context.Context, t *testing.T, python, wheel, archive string) {
	t.Helper()
	dir := t.TempDir()
	run(ctx, t, python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation", "-w", dir, archive)
	if got, want := listFiles(t, findOne(t, dir, "beeos-*.whl")), listFiles(t, wheel); !slices.Equal(got, want) {
		t.Errorf("the source archive makes %q, want %q", got, want)
	}
}

// listFiles returns what is in a wheel, with sizes and checksums.
func listFiles(t *testing.T, wheel string) (files []string) {
	t.Helper()
	z, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		files = append(files, fmt.Sprintf("%s %d %x", f.Name, f.UncompressedSize64, f.CRC32))
	}
	slices.Sort(files)
	return files
}

func findOne(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v %v", pattern, found, err)
	}
	return found[0]
}
