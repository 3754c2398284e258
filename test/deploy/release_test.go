//go:build release && linux

package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	version  = "9.8.7"
	patience = 2 * time.Minute
)

// run runs a command that must succeed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// needRoot fails for whoever cannot do what a test is about: nothing is tried then, and
// nobody is to believe that it was.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal(`only root can install packages and change the root folder; run: sudo -E env PATH="$PATH" make packages`)
	}
}

// makeRelease makes what is shipped for this machine from a copy of a commit, in a
// folder of its own; steps are some of those of tools/release, or all.
func makeRelease(t *testing.T, commit, version, steps string) (out string) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, root, nil, "sh", "-c", `git archive "$1" > "$2.tar" && tar -x -f "$2.tar" -C "$2" && rm "$2.tar"`, "sh", commit, tree)
	out = filepath.Join(t.TempDir(), "dist")
	args := []string{"run", "-C", "tools", "./release", "-version", version, "-targets", runtime.GOOS + "/" + runtime.GOARCH, "-out", out, "-steps", steps}
	t.Log(run(t, tree, []string{"SOURCE_DATE_EPOCH=1700000000"}, "go", args...))
	return out
}

// TestRelease makes a release, twice, and uses it as others would.
func TestRelease(t *testing.T) {
	out := makeRelease(t, "HEAD", version, "")
	t.Run("the same bytes again", func(t *testing.T) {
		again := makeRelease(t, "HEAD", version, "")
		first, err1 := os.ReadFile(filepath.Join(out, "checksums.txt"))
		second, err2 := os.ReadFile(filepath.Join(again, "checksums.txt"))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v\n%s\n%s", err, first, second)
		}
		t.Logf("\n%s", first)
	})
	t.Run("sums", func(t *testing.T) { trySums(t, out) })
	t.Run("installer", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "bin")
		said, err := install(t, "INSTALL_FROM="+out, "INSTALL_DIR="+dir)
		if err != nil || !strings.Contains(said, "installed "+dir+"/beeos: beeos "+version) {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("pages", func(t *testing.T) { tryPages(t, shippedProgram(t, out)) })
	t.Run("deb", func(t *testing.T) { tryDeb(t, shippedAs(out, version, "deb")) })
	t.Run("deb over an older one", func(t *testing.T) {
		older := makeRelease(t, olderCommit(t), olderVersion, "binaries,extras,archives,packages")
		tryUpgrade(t, shippedAs(older, olderVersion, "deb"), shippedAs(out, version, "deb"))
	})
	t.Run("rpm", func(t *testing.T) { tryRPM(t, shippedAs(out, version, "rpm")) })
	t.Run("newcomer", func(t *testing.T) { tryNewcomer(t, out) })
	t.Run("image", func(t *testing.T) { tryImage(t, filepath.Join(out, "beeos_"+version+"_image.tar")) })
}

// trySums has sha256sum check everything that there is, but the list itself.
func trySums(t *testing.T, out string) {
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	said := run(t, out, nil, "sha256sum", "--check", "checksums.txt")
	for _, f := range files {
		if f.Name() != "checksums.txt" && !strings.Contains(said, f.Name()+": OK\n") {
			t.Errorf("%s has no sum:\n%s", f.Name(), said)
		}
	}
}

func shippedAs(out, version, suffix string) string {
	return filepath.Join(out, fmt.Sprintf("beeos_%s_%s_%s.%s", version, runtime.GOOS, runtime.GOARCH, suffix))
}

// packaged is what a package brings.
var packaged = []string{
	"usr/bin/beeos", "usr/lib/systemd/system/beeos.service", "usr/lib/sysusers.d/beeos.conf", "etc/beeos/beeos.env", "etc/beeos/beeos.yaml",
	"usr/share/man/man1/beeos.1", "usr/share/bash-completion/completions/beeos",
}

func tryDeb(t *testing.T, path string) {
	folder := t.TempDir()
	run(t, ".", nil, "dpkg-deb", "--extract", path, folder)
	run(t, ".", nil, "dpkg-deb", "--control", path, filepath.Join(folder, "DEBIAN"))
	for _, name := range append(packaged, "DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/conffiles") {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	if said := run(t, ".", nil, filepath.Join(folder, "usr/bin/beeos"), "version"); !strings.Contains(said, version) {
		t.Error(said)
	}
}

func tryRPM(t *testing.T, path string) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Fatal("rpm is not here to look into the package; run: scripts/setup.sh")
	}
	listed := run(t, ".", nil, "rpm", "-qlp", path)
	for _, name := range packaged {
		if !strings.Contains(listed, "/"+name+"\n") {
			t.Errorf("it has no %s:\n%s", name, listed)
		}
	}
	run(t, ".", nil, "rpm", "-K", "--nosignature", path)
}
