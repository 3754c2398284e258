//go:build unix

package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// shelf is a folder of artifacts, as a release has them.
func shelf(t *testing.T, program string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "beeos", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write([]byte(program))
	}
	folder := t.TempDir()
	name := fmt.Sprintf("beeos_1.2.3_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	err = errors.Join(err, w.Close(), z.Close(), os.WriteFile(filepath.Join(folder, name), b.Bytes(), 0o644))
	sums := fmt.Sprintf("%x  %s\n%x  beeos_1.2.3_plan9_mips.tar.gz\n", sha256.Sum256(b.Bytes()), name, sha256.Sum256(nil))
	if err = errors.Join(err, os.WriteFile(filepath.Join(folder, "checksums.txt"), []byte(sums), 0o644)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// install runs the installer in an environment that has nothing but what a shell
// needs.
func install(t *testing.T, env ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(root, "scripts", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-i", "PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, env...)
	out, err := exec.CommandContext(t.Context(), "env", append(args, "sh", script)...).CombinedOutput()
	return string(out), err
}

func TestInstaller(t *testing.T) {
	from, dir := shelf(t, "#!/bin/sh\necho beeos 1.2.3\n"), filepath.Join(t.TempDir(), "bin")
	for range 2 { // the second one replaces the first
		out, err := install(t, "INSTALL_FROM="+from, "INSTALL_DIR="+dir)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, words := range []string{"SHA-256 of beeos_1.2.3_", "is as promised", "installed " + dir + "/beeos: beeos 1.2.3", "is not in your PATH; begin with: " + dir + "/beeos dev"} {
			if !strings.Contains(out, words) {
				t.Errorf("it does not say %q:\n%s", words, out)
			}
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("left %v, %v", list, err)
	}
}

func TestInstallerRefuses(t *testing.T) {
	from := shelf(t, "#!/bin/sh\necho other\n")
	archives, err := filepath.Glob(filepath.Join(from, "beeos_*"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	if err := os.WriteFile(archives[0], []byte("something else"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, words := range map[string]string{
		from:        "is not what checksums.txt promises",
		t.TempDir(): "has no checksums.txt",
	} {
		dir := filepath.Join(t.TempDir(), "bin")
		out, err := install(t, "INSTALL_FROM="+from, "INSTALL_DIR="+dir)
		if err == nil || !strings.Contains(out, words) {
			t.Errorf("%v\n%s", err, out)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("something was installed: %v", err)
		}
	}
}
