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
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/test/ports"
	"github.com/beeos/beeos/test/program"
)

const largestImage = 50_000_000 // bytes, unpacked

// container runs programs of an image as a runtime does: as its own user, with a root
// that cannot be written to, and one folder that can.
type container struct {
	t          *testing.T
	root, data string
	env        []string
	rest       string // URL
	gateway    string
}

func newContainer(t *testing.T, root string) *container {
	t.Helper()
	c := &container{t: t, root: root, data: t.TempDir()}
	if err := os.Chown(c.data, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	admin, rest, gateway := ports.Addr(t), ports.Addr(t), ports.Addr(t)
	c.rest, c.gateway = "http://"+rest, "http://"+gateway
	c.env = []string{
		"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/", "BEEOS_DATA=/data", "BEEOS_ADMIN_ADDR=" + admin, "OPENAPI_ADDR=" + rest, "AGENT_GATEWAY_ADDR=" + gateway,
		"MCP_ADDR=127.0.0.1:0", "A2A_ADDR=127.0.0.1:0", "WEB_ADDR=127.0.0.1:0",
	}
	return c
}

// inside are the words that run a command of the image.
func (c *container) inside(args ...string) []string {
	const enter = `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount --bind "$2" "$1/data" && root=$1 && shift 2 && exec chroot --userspec=65532:65532 "$root" /usr/bin/beeos "$@"`
	return append([]string{"-m", "sh", "-c", enter, "sh", c.root, c.data}, args...)
}

// command runs a command of the image beside the server.
func (c *container) command(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", c.inside(args...)...)
	cmd.Env = c.env
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// serve starts the server and returns once its health check is content.
func (c *container) serve() *program.Process {
	c.t.Helper()
	p, err := program.Start("server", c.env, "unshare", c.inside("serve")...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Kill)
	for end := time.Now().Add(patience); ; {
		if _, err := c.command("health"); err == nil {
			return p
		}
		select {
		case <-p.Ended():
			c.t.Fatalf("the server ended\n%s", p.Text())
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			c.t.Fatalf("the server does not become ready\n%s", p.Text())
		}
	}
}

// tryImage has the server of an image answer a call, stop on SIGTERM while calls are
// under way, and start again: none of them is lost, and none is made twice.
func tryImage(t *testing.T, path string) {
	needRoot(t)
	folder := t.TempDir()
	size := unpackImage(t, path, folder)
	t.Logf("%.1f MB", float64(size)/1e6)
	if size >= largestImage {
		t.Errorf("the image has %d bytes, README.md promises less than %d", size, largestImage)
	}
	c := newContainer(t, folder)
	key, err := c.command("keys", "create", "--owner", "ada@example.com")
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	server := c.serve()
	w := startWorker(t, c.gateway, key)
	call := func(text string) error { return w.call(t, c.rest, key, text) }
	if err := call("hello"); err != nil {
		t.Fatal(err)
	}
	<-w.began

	const calls = 20
	ended := make(chan error, calls)
	for i := range calls {
		go func() { ended <- call(fmt.Sprintf("wait %d", i)) }() // ends with the server at the latest
	}
	for range calls {
		select {
		case <-w.began:
		case <-time.After(patience):
			t.Fatal("the agent does not get all calls")
		}
	}
	code, err := server.Terminate(patience)
	if err != nil || code != 0 {
		t.Errorf("the server ended with code %d: %v\n%s", code, err, server.Text())
	}
	told := 0
	for range calls {
		if err := <-ended; err != nil {
			told++
		}
	}
	t.Logf("of %d calls under way, %d were told that the server stops", calls, told)
	close(w.release)

	c.serve()
	for i := range calls {
		if err := repeat(t, call, fmt.Sprintf("wait %d", i)); err != nil {
			t.Error(err)
		}
	}
	w.checkOnce(t)
	if _, err := c.command("verify"); err != nil {
		t.Errorf("verify: %v", err)
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
