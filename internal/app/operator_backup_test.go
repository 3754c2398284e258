package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/test/apptest"
)

// TestBackupReachesBuckets: the bytes of files come out of one bucket and go into
// another, with a server that runs all the time.
func TestBackupReachesBuckets(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.S3 = newBucket(t)
	running := apptest.Start(t, cfg)
	cl := client.New(running.REST, running.UserKey)
	if _, err := cl.Upload(t.Context(), "a.txt", "text/plain", strings.NewReader("some bytes"), 10); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if result, err := app.Backup(t.Context(), cfg, file, true, nil); err != nil || result.Files != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, inBucket := range []bool{true, false} {
		to := cfg
		to.Data = filepath.Join(t.TempDir(), "new")
		if to.S3.Endpoint = ""; inBucket {
			to.S3 = newBucket(t)
		}
		if _, err := app.Restore(t.Context(), to, file, nil); err != nil {
			t.Fatal(err)
		}
		report, err := app.Verify(t.Context(), to, true)
		if err != nil || !report.Clean() {
			t.Errorf("%+v, %v", report.Findings, err)
		}
		if _, err := os.Stat(filepath.Join(to.Data, "files")); (err == nil) == inBucket {
			t.Errorf("in a bucket %t, and in the folder: %v", inBucket, err)
		}
	}
	elsewhere := cfg
	elsewhere.S3 = newBucket(t)
	if report, err := app.Verify(t.Context(), elsewhere, true); err != nil || report.Clean() {
		t.Errorf("the files are in another bucket: %+v, %v", report, err)
	}
}

// TestServerURL: what is printed for pg_dump shows no password and nothing that it
// does not know.
func TestServerURL(t *testing.T) {
	for given, want := range map[string]string{
		"postgres://u:secret@host:5432/db?sslmode=disable&pool_max_conns=9&durability=os": "postgres://u@host:5432/db?sslmode=disable",
		"postgres:///db?host=%2Ftmp&user=u&password=secret":                               "postgres:///db?host=%2Ftmp&user=u",
		"postgres://\x7f": "$DATABASE_URL",
	} {
		if got := app.ServerURL(given); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}
