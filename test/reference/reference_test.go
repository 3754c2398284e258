//go:build unix

// Package reference keeps docs/reference/sdk-python.md and sdk-typescript.md what the
// sources of the SDKs say: sdk/python/reference.py and sdk/typescript/reference.ts
// write them.
package reference

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/beeos/beeos/test/npm"
)

const sdks = "../../sdk"

var update = flag.Bool("update", false, "write the pages instead of comparing them")

func TestPython(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "python3", "reference.py")
	cmd.Dir = filepath.Join(sdks, "python")
	compare(t, "sdk-python.md", cmd)
}

// TestTypeScript runs the compiler where the packages are that the sources need.
func TestTypeScript(t *testing.T) {
	tools, err := npm.Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(sdks, "typescript")
	packages, err := npm.InstallLocked(t.Context(), read(t, source, "package.json"), read(t, source, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS(filepath.Join(source, "src"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "tsconfig.json", "tsconfig.build.json", "reference.ts"} {
		if err := os.WriteFile(filepath.Join(dir, name), read(t, source, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages.Module(""), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), tools.Module(".bin/node"), "reference.ts")
	cmd.Dir = dir
	compare(t, "sdk-typescript.md", cmd)
}

// compare says whether a page is what the command prints, or writes it.
func compare(t *testing.T, page string, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	want, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	const folder = "../../docs/reference"
	if *update {
		if err := os.WriteFile(filepath.Join(folder, page), want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(read(t, folder, page), want) {
		t.Errorf("docs/reference/%s is not what the sources say.\n\tRun: go test ./test/reference -update", page)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
