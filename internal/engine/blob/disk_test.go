package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dyingFolder makes this test's program a process that dies in the middle of
// an upload into that folder.
const dyingFolder = "BLOB_TEST_DIE_IN"

func TestMain(m *testing.M) {
	if folder := os.Getenv(dyingFolder); folder != "" {
		d, err := OpenDisk(folder)
		if err != nil {
			panic(err)
		}
		_, _, err = d.Put(context.Background(), "file_1", io.MultiReader(strings.NewReader("every byte"), fatal{}), 100)
		panic(err) // it should not have come back
	}
	os.Exit(m.Run())
}

// fatal ends the process once everything before it has been written.
type fatal struct{}

func (fatal) Read([]byte) (int, error) { os.Exit(3); return 0, nil }

func disk(t *testing.T) (*Disk, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "files")
	d, err := OpenDisk(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, folder
}

// names lists what is in a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

func TestDiskKeepsBytes(t *testing.T) {
	d, folder := disk(t)
	ctx := t.Context()
	for _, text := range []string{"hello", "", "hello again"} { // the last one in its place
		size, sum, err := d.Put(ctx, "file_1", strings.NewReader(text), 11)
		want := sha256.Sum256([]byte(text))
		if err != nil || size != int64(len(text)) || !bytes.Equal(sum, want[:]) {
			t.Fatalf("put %q: %d %x %v", text, size, sum, err)
		}
		f, err := d.Open(ctx, "file_1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if string(got) != text || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		f.Close()
	}
	if got := names(t, folder); len(got) != 1 || got[0] != "file_1" {
		t.Errorf("the folder has %q", got)
	}
	if info, err := os.Stat(filepath.Join(folder, "file_1")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := d.Delete(ctx, "file_1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Open(ctx, "file_1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
}

func TestDiskLeavesNothingAfterAFailure(t *testing.T) {
	broken := errors.New("the line went dead")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"too large", t.Context(), strings.NewReader("0123456789+"), ErrTooLarge},
		{"broken off", t.Context(), io.MultiReader(strings.NewReader("01234"), &failing{broken}), broken},
		{"out of time", gone, strings.NewReader("01234"), broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, folder := disk(t)
			if _, _, err := d.Put(tt.ctx, "file_1", tt.r, 10); !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if got := names(t, folder); len(got) != 0 {
				t.Errorf("left behind: %q", got)
			}
		})
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestCrashLeavesNothingVisible kills a process after the last byte was
// written and before the file got its name.
func TestCrashLeavesNothingVisible(t *testing.T) {
	d, folder := disk(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dyingFolder+"="+folder)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("the process did not die as it should: %v %s", err, out)
	}
	left := names(t, folder)
	if len(left) != 1 || !strings.HasPrefix(left[0], tempPrefix) {
		t.Fatalf("it left %q", left)
	}
	for _, id := range []string{"file_1", left[0]} {
		if _, err := d.Open(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s can be opened: %v", id, err)
		}
	}
	if err := d.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || len(names(t, folder)) != 1 {
		t.Errorf("an upload that may still run was swept away, %v", err)
	}
	if _, _, err := d.Put(t.Context(), "file_1", strings.NewReader("again"), 100); err != nil {
		t.Fatal(err)
	}
	if err := d.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := names(t, folder); len(got) != 1 || got[0] != "file_1" {
		t.Errorf("after the sweep: %q", got)
	}
}

func TestDiskTakesOnlyIDs(t *testing.T) {
	d, folder := disk(t)
	ctx := t.Context()
	for _, id := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a.b", "a\x00b", "ä", tempPrefix + "x", strings.Repeat("a", 129)} {
		_, _, put := d.Put(ctx, id, strings.NewReader("x"), 10)
		_, open := d.Open(ctx, id)
		for _, err := range []error{put, open, d.Delete(ctx, id)} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if got := names(t, folder); len(got) != 0 {
		t.Errorf("the folder has %q", got)
	}
}

// TestSymlinksAreNotFollowed: neither out of the folder nor inside of it,
// neither for reading nor for writing, nor as the folder itself.
func TestSymlinksAreNotFollowed(t *testing.T) {
	d, folder := disk(t)
	ctx := t.Context()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Put(ctx, "file_real", strings.NewReader("real"), 10); err != nil {
		t.Fatal(err)
	}
	for id, target := range map[string]string{"file_out": secret, "file_in": "file_real", "file_up": "../../secret"} {
		link := filepath.Join(folder, id)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if f, err := d.Open(ctx, id); err == nil {
			f.Close()
			t.Errorf("%s was followed to %s", id, target)
		}
		if _, _, err := d.Put(ctx, id, strings.NewReader("new"), 10); err != nil {
			t.Errorf("%s cannot be written: %v", id, err)
		}
		if info, err := os.Lstat(link); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is still a link: %v %v", id, info.Mode(), err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := d.Delete(ctx, id); err != nil {
			t.Errorf("%s cannot be deleted: %v", id, err)
		}
	}
	for path, want := range map[string]string{secret: "secret", filepath.Join(folder, "file_real"): "real"} {
		if got, err := os.ReadFile(path); string(got) != want || err != nil {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	link := filepath.Join(t.TempDir(), "files")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDisk(link); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a linked folder: %v", err)
	}
}
