//go:build release && linux

package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beeos/beeos/test/ports"
)

const (
	version  = "9.8.7"
	patience = 2 * time.Minute

	largestImage = 50_000_000 // bytes, unpacked
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

// makeRelease makes what is shipped for this machine from a copy of the last
// commit, in a folder of its own.
func makeRelease(t *testing.T) (out string) {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, root, nil, "sh", "-c", `git archive HEAD | tar -x -C "$1"`, "sh", tree)
	out = filepath.Join(t.TempDir(), "dist")
	t.Log(run(t, tree, []string{"SOURCE_DATE_EPOCH=1700000000"}, "go", "run", "-C", "tools", "./release", "-version", version, "-targets", runtime.GOOS+"/"+runtime.GOARCH, "-out", out))
	return out
}

// TestRelease makes a release, twice, and uses it as others would.
func TestRelease(t *testing.T) {
	out := makeRelease(t)
	t.Run("the same bytes again", func(t *testing.T) {
		again := makeRelease(t)
		first, err1 := os.ReadFile(filepath.Join(out, "checksums.txt"))
		second, err2 := os.ReadFile(filepath.Join(again, "checksums.txt"))
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%v\n%s\n%s", err, first, second)
		}
		t.Logf("\n%s", first)
	})
	t.Run("installer", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "bin")
		said, err := install(t, "INSTALL_FROM="+out, "INSTALL_DIR="+dir)
		if err != nil || !strings.Contains(said, "installed "+dir+"/beeos: beeos "+version) {
			t.Errorf("%v\n%s", err, said)
		}
	})
	t.Run("pages", func(t *testing.T) { tryPages(t, shippedProgram(t, out)) })
	t.Run("deb", func(t *testing.T) { tryDeb(t, shippedAs(out, "deb")) })
	t.Run("rpm", func(t *testing.T) { tryRPM(t, shippedAs(out, "rpm")) })
	t.Run("image", func(t *testing.T) { tryImage(t, filepath.Join(out, "beeos_"+version+"_image.tar")) })
}

func shippedAs(out, suffix string) string {
	return filepath.Join(out, fmt.Sprintf("beeos_%s_%s_%s.%s", version, runtime.GOOS, runtime.GOARCH, suffix))
}

// packaged is what a package brings.
var packaged = []string{
	"usr/bin/beeos", "usr/lib/systemd/system/beeos.service", "usr/lib/sysusers.d/beeos.conf", "etc/beeos/beeos.env",
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
		t.Log("rpm is not here to look into the package")
		return
	}
	listed := run(t, ".", nil, "rpm", "-qlp", path)
	for _, name := range packaged {
		if !strings.Contains(listed, "/"+name+"\n") {
			t.Errorf("it has no %s:\n%s", name, listed)
		}
	}
	run(t, ".", nil, "rpm", "-K", "--nosignature", path)
}

// tryImage starts the server of an image as a runtime does: its own user, a root
// that cannot be written to, and one folder that can.
func tryImage(t *testing.T, path string) {
	if os.Getuid() != 0 {
		t.Log("only root can change the root folder")
		return
	}
	folder, data := t.TempDir(), t.TempDir()
	size := unpackImage(t, path, folder)
	t.Logf("%.1f MB", float64(size)/1e6)
	if size >= largestImage {
		t.Errorf("the image has %d bytes, README.md promises less than %d", size, largestImage)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	port, free, err := ports.Reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	env := []string{
		"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "BEEOS_DATA=/data", fmt.Sprintf("BEEOS_ADMIN_ADDR=127.0.0.1:%d", port),
		"MCP_ADDR=127.0.0.1:0", "A2A_ADDR=127.0.0.1:0", "OPENAPI_ADDR=127.0.0.1:0", "AGENT_GATEWAY_ADDR=127.0.0.1:0", "WEB_ADDR=127.0.0.1:0",
	}
	inside := func(ctx context.Context, args ...string) *exec.Cmd {
		const enter = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind "$2" "$1/data" && root=$1 && shift 2 && exec chroot --userspec=65532:65532 "$root" /usr/bin/beeos "$@"`
		cmd := exec.CommandContext(ctx, "unshare", append([]string{"-m", "sh", "-c", enter, "sh", folder, data}, args...)...)
		cmd.Env = env
		return cmd
	}
	server := inside(t.Context(), "serve")
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for inside(ctx, "health").Run() != nil {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			server.Process.Kill() //nolint:errcheck // it failed already
			server.Wait()         //nolint:errcheck // likewise
			t.Fatalf("the server does not become ready\n%s", log.String())
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	if _, err := os.Stat(filepath.Join(data, "beeos.db")); err != nil {
		t.Error(err)
	}
}

// unpackImage writes the file system of the image for this machine into a folder,
// and returns how many bytes it has.
func unpackImage(t *testing.T, path, folder string) (size int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	blobs := map[string][]byte{}
	err = eachEntry(f, func(head *tar.Header, r io.Reader) error {
		text, err := io.ReadAll(r)
		blobs[head.Name] = text
		return err
	})
	type part struct{ Digest string }
	var index, inner struct{ Manifests []part }
	var manifest struct{ Layers []part }
	for _, step := range []struct {
		from func() string
		to   any
	}{
		{func() string { return "index.json" }, &index},
		{func() string { return blobName(index.Manifests[0].Digest) }, &inner},
		{func() string { return blobName(inner.Manifests[0].Digest) }, &manifest},
	} {
		if err == nil {
			err = json.Unmarshal(blobs[step.from()], step.to)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(blobs[blobName(manifest.Layers[0].Digest)]))
	if err != nil {
		t.Fatal(err)
	}
	err = eachEntry(z, func(head *tar.Header, r io.Reader) error {
		to := filepath.Join(folder, filepath.FromSlash(head.Name))
		if head.Typeflag == tar.TypeDir {
			return errors.Join(os.MkdirAll(to, 0o755), os.Chmod(to, fs.FileMode(head.Mode)), os.Chown(to, head.Uid, head.Gid))
		}
		text, err := io.ReadAll(r)
		size += len(text)
		return errors.Join(err, os.WriteFile(to, text, fs.FileMode(head.Mode)))
	})
	if err = errors.Join(err, os.Chmod(folder, 0o755)); err != nil {
		t.Fatal(err)
	}
	return size
}

func blobName(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

func eachEntry(r io.Reader, do func(*tar.Header, io.Reader) error) error {
	for in := tar.NewReader(r); ; {
		head, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(head, in); err != nil {
			return err
		}
	}
}
