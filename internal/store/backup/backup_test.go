package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/files"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/pgtest"
)

// dyingIn makes this test's program a process that dies in the middle of a backup
// of the data folder of that name.
const dyingIn = "BACKUP_TEST_DIE_IN"

func TestMain(m *testing.M) {
	if data := os.Getenv(dyingIn); data != "" {
		db, version, err := store.OpenUnchanged(context.Background(), "sqlite:"+filepath.Join(data, DatabaseName))
		if err != nil {
			panic(err)
		}
		_, err = Write(context.Background(), Source{DB: db, Version: version, Data: data, Blobs: deadly{}}, filepath.Join(filepath.Dir(data), "backup"))
		panic(err) // it should not have come back
	}
	os.Exit(m.Run())
}

// deadly is a place for files at which the process ends.
type deadly struct{}

func (deadly) Open(context.Context, string) (io.ReadSeekCloser, error) { os.Exit(3); return nil, nil }

// server is what a server keeps.
type server struct {
	Source
	t     *testing.T
	blobs *blob.Disk
	user  beeos.User
	out   string // a folder for backups
}

func newServer(t *testing.T, db *store.Store, data string) *server {
	t.Helper()
	storetest.Fill(t, db)
	if err := os.MkdirAll(filepath.Join(data, "builtin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"prices.json": "[]", "builtin/id.json": "{}", ".hidden": "no", "empty": ""} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(data, "link")); err != nil {
		t.Fatal(err)
	}
	disk, err := blob.OpenDisk(filepath.Join(data, FilesFolder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	s := &server{t: t, blobs: disk, out: t.TempDir(), Source: Source{DB: db, Version: 29, Data: data, Blobs: disk, Settings: []string{"BEEOS_DATA"}}}
	s.user, _ = storetest.Owner(t, db, "files@example.com")
	s.storeFile("file_1", "some bytes", time.Now().Add(time.Hour))
	return s
}

func newSQLiteServer(t *testing.T) *server {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	return newServer(t, storetest.Open(t, "sqlite:"+filepath.Join(data, DatabaseName)), data)
}

func (s *server) storeFile(id, text string, until time.Time) {
	s.t.Helper()
	ctx := s.t.Context()
	size, sum, err := s.blobs.Put(ctx, id, strings.NewReader(text), 100)
	err = errors.Join(err,
		s.DB.Files.Create(ctx, files.File{ID: id, Owner: "user:" + s.user.ID, OwnerID: s.user.ID, Filename: "a", ContentType: "text/plain", CreatedAt: database.Now(), ExpiresAt: time.Now().Add(time.Hour)}),
		s.DB.Files.Claim(ctx, id, "claim", time.Now(), time.Now().Add(time.Hour)),
		s.DB.Files.MarkStored(ctx, files.File{ID: id, Size: size, SHA256: sum, ExpiresAt: until}, "claim"))
	if err != nil {
		s.t.Fatal(err)
	}
}

// write makes a backup under a name.
func (s *server) write(name string) (string, Result) {
	s.t.Helper()
	file := filepath.Join(s.out, name)
	result, err := Write(s.t.Context(), s.Source, file)
	if err != nil {
		s.t.Fatal(err)
	}
	return file, result
}

// tree is all files below a folder.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(folder, path)
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rows counts what every table has.
func rows(t *testing.T, db *store.Store) map[string]int {
	t.Helper()
	tables, err := database.ListTexts(t.Context(), db, "list tables", "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, table := range tables {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		counts[table] = n
	}
	return counts
}

func TestBackupBringsEverythingBack(t *testing.T) {
	s := newSQLiteServer(t)
	var told []int64
	s.Progress = func(done, all int64) { told = append(told, done, all) }
	file, result := s.write("backup")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || info.Size() != result.Size || result.Files != 1 {
		t.Errorf("%v %+v %v", info, result, err)
	}
	if n := len(told); n < 4 || told[n-2] != told[n-1] || !slices.IsSorted([]int64{told[0], told[n-2]}) {
		t.Errorf("progress was told as %v", told)
	}
	if left := tree(t, s.out); len(left) != 1 {
		t.Errorf("left beside the backup: %v", left)
	}

	to := filepath.Join(t.TempDir(), "new", "data")
	h, err := Restore(t.Context(), file, Target{Folder: to})
	if err != nil || h.Engine != SQLite || h.Tables != 29 || h.Program != beeos.Version {
		t.Fatalf("%+v, %v", h, err)
	}
	got := tree(t, to)
	delete(got, DatabaseName)
	want := map[string]string{"prices.json": "[]", "builtin/id.json": "{}", "empty": "", "files/file_1": "some bytes"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	db := storetest.Open(t, "sqlite:"+filepath.Join(to, DatabaseName))
	if diff := cmp.Diff(rows(t, s.DB), rows(t, db)); diff != "" {
		t.Error(diff)
	}
}

// TestPostgresBackupHasTheRest: what is in tables is pg_dump's.
func TestPostgresBackupHasTheRest(t *testing.T) {
	s := newServer(t, storetest.Open(t, pgtest.URL(t)), filepath.Join(t.TempDir(), "data"))
	file, _ := s.write("backup")
	to := t.TempDir()
	h, err := Restore(t.Context(), file, Target{Folder: to})
	if err != nil || h.Engine != PostgreSQL {
		t.Fatalf("%+v, %v", h, err)
	}
	want := map[string]string{"prices.json": "[]", "builtin/id.json": "{}", "empty": "", "files/file_1": "some bytes"}
	if diff := cmp.Diff(want, tree(t, to)); diff != "" {
		t.Error(diff)
	}
}

// TestFilesThatAreGone: one whose time is over may be gone, another one is missed.
func TestFilesThatAreGone(t *testing.T) {
	s := newSQLiteServer(t)
	s.storeFile("file_2", "old", time.Now().Add(-time.Second))
	s.storeFile("file_3", "lost", time.Now().Add(time.Hour))
	for _, id := range []string{"file_2", "file_3"} {
		if err := s.blobs.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if _, result := s.write("backup"); result.Files != 1 || !slices.Equal(result.Missing, []string{"file_3"}) {
		t.Errorf("%+v", result)
	}
	s.Blobs = nil
	if _, result := s.write("without"); result.Files != 0 || result.Missing != nil {
		t.Errorf("%+v", result)
	}
}

func TestBackupRefuses(t *testing.T) {
	s := newSQLiteServer(t)
	file, _ := s.write("backup")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		ctx         context.Context
		file, words string
	}{
		{t.Context(), file, "not overwritten; choose another name"},
		{t.Context(), filepath.Join(s.Data, "backup"), "lies in the data folder"},
		{t.Context(), filepath.Join(s.out, "no", "folder"), "choose another one"},
		{gone, filepath.Join(s.out, "stopped"), "canceled"},
	} {
		if _, err := Write(tt.ctx, s.Source, tt.file); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", tt.file, err)
		}
	}
	if left := tree(t, s.out); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

func TestRestoreRefuses(t *testing.T) {
	s := newSQLiteServer(t)
	file, _ := s.write("backup")
	taken, foreign := t.TempDir(), filepath.Join(t.TempDir(), "foreign")
	if err := errors.Join(os.WriteFile(filepath.Join(taken, "x"), nil, 0o600), os.WriteFile(foreign, []byte("hello"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, folder, words string }{
		{file, taken, "is not empty (it has x); restore into another one with --data"},
		{file, s.Data, "is not empty"},
		{foreign, t.TempDir(), "is not a backup of BeeOS"},
		{writeTar(t, "other.json", "{}"), t.TempDir(), "is not a backup of BeeOS"},
		{writeTar(t, headerName, `{"format":99,"program":"9.9.9"}`), t.TempDir(), "newer version of BeeOS (9.9.9)"},
		{writeTar(t, headerName, `{"format":1}`, "data/../../../evil", "x"), t.TempDir(), "would not lie in the data folder"},
		{writeTar(t, headerName, `{"format":1}`, "data/a", "x"), t.TempDir(), "broken off"},
		{writeTar(t, headerName, `{"format":1}`, "data/a", "x", manifestName, "[]"), t.TempDir(), "2 files instead of 0"},
	} {
		before := tree(t, tt.folder)
		if _, err := Restore(t.Context(), tt.file, Target{Folder: tt.folder}); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", tt.words, err)
		}
		if diff := cmp.Diff(before, tree(t, tt.folder)); diff != "" {
			t.Errorf("%s: %s", tt.words, diff)
		}
	}
	boom := errors.New("boom")
	folder := t.TempDir()
	_, err := Restore(t.Context(), file, Target{Folder: folder, Before: func(context.Context, string) error { return boom }})
	if !errors.Is(err, boom) || len(tree(t, folder)) != 0 {
		t.Errorf("%v, %v", err, tree(t, folder))
	}
}

// writeTar writes a file that may look like a backup: names and texts in turn.
func writeTar(t *testing.T, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for i := 0; i < len(entries); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: entries[i], Mode: 0o600, Size: int64(len(entries[i+1]))})
		if _, e := io.WriteString(w, entries[i+1]); err != nil || e != nil {
			t.Fatal(err, e)
		}
	}
	path := filepath.Join(t.TempDir(), "made")
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// gunzip returns what a compressed file holds; nil = it holds nothing that is whole.
func gunzip(text []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	all, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return all
}

// TestDamagedBackupsAreRefused cuts one off at many places, and changes a byte at
// many others.
func TestDamagedBackupsAreRefused(t *testing.T) {
	s := newSQLiteServer(t)
	file, _ := s.write("backup")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, at int, text []byte) {
		t.Helper()
		hurt, folder := filepath.Join(t.TempDir(), "hurt"), t.TempDir()
		if err := os.WriteFile(hurt, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), hurt, Target{Folder: folder}); err == nil {
			if !bytes.Equal(gunzip(text), gunzip(whole)) { // deflate has bits that mean nothing
				t.Errorf("%s at %d of %d was not noticed", what, at, len(whole))
			}
			return
		}
		if left := tree(t, folder); len(left) != 0 {
			t.Errorf("%s at %d left %d files", what, at, len(left))
		}
	}
	const places = 20
	for i := range places {
		at := i * (len(whole) - 1) / (places - 1)
		try("a cut", at, whole[:at])
		if at < 10 { // gzip does not look at the time, flags and system in its header
			continue
		}
		changed := bytes.Clone(whole)
		changed[at] ^= 0x10
		try("a changed byte", at, changed)
	}
}

// TestCrashLeavesNothingThatLooksWhole kills a process when the database is in the
// backup already and the files are not.
func TestCrashLeavesNothingThatLooksWhole(t *testing.T) {
	s := newSQLiteServer(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), dyingIn+"="+s.Data)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("the process did not die as it should: %v %s", err, out)
	}
	beside := filepath.Dir(s.Data)
	if _, err := os.Stat(filepath.Join(beside, "backup")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a backup: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(beside, ".backup.partial-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("left %v, %v", left, err)
	}
	if _, err := Restore(t.Context(), filepath.Join(left[0], "backup"), Target{Folder: t.TempDir()}); err == nil {
		t.Error("what was left can be restored")
	}
}
