//go:build litestream

package faults

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// litestream is the program that make builds out of test/litestream.
func litestream(t *testing.T) string {
	t.Helper()
	path := os.Getenv("BEEOS_TEST_LITESTREAM")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("Litestream is missing (%v); run: make litestream", err)
	}
	return path
}

// copier copies a node's database as the file in deploy/litestream says, to a bucket
// in the memory of this test.
type copier struct {
	t      *testing.T
	config string
	from   string // the database
	proc   *process
}

// bucketKeys are what the page says that the keys of the bucket come from.
var bucketKeys = []string{"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret"}

// startBucket returns the URL of a bucket, as Litestream writes it.
func startBucket(t *testing.T) string {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("copies"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(srv.Close)
	return "s3://copies/beeos?endpoint=" + url.QueryEscape(srv.URL)
}

func startCopier(t *testing.T, n *node) *copier {
	t.Helper()
	text, err := os.ReadFile("../../deploy/litestream/litestream.yml")
	if err != nil {
		t.Fatal(err)
	}
	c := &copier{t: t, config: filepath.Join(t.TempDir(), "litestream.yml"), from: filepath.Join(n.setting("BEEOS_DATA"), "beeos.db")}
	mine := strings.NewReplacer("/var/lib/beeos/beeos.db", c.from, "s3://BUCKET/beeos", startBucket(t)).Replace(string(text))
	if !strings.Contains(mine, c.from) || !strings.Contains(mine, "s3://copies/") {
		t.Fatalf("the sample is not what this test knows:\n%s", text)
	}
	if err := os.WriteFile(c.config, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	c.proc = start(t, "litestream", litestream(t), bucketKeys, "replicate", "-config", c.config)
	return c
}

// restore writes what the copy holds into a new folder.
func (c *copier) restore() (folder string, err error) {
	folder = filepath.Join(c.t.TempDir(), "data")
	cmd := exec.CommandContext(c.t.Context(), litestream(c.t), "restore", "-config", c.config, "-o", filepath.Join(folder, "beeos.db"), c.from)
	cmd.Env = append([]string{"HOME=" + c.t.TempDir(), "PATH=" + os.Getenv("PATH")}, bucketKeys...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("restore: %w\n%s", err, out)
	}
	return folder, nil
}

// missing counts what was acknowledged and is not in a restored folder.
func missing(t *testing.T, folder string, results []result) (n int) {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(folder, "beeos.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	there := map[string]string{}
	records{t, db}.each(`SELECT i.key, a.body FROM idempotency i JOIN messages a ON a.terminal AND a.in_reply_to = i.turn`, func(key, body string) { there[key] = body })
	for _, got := range results {
		if there[got.key] != echoed(got.text) {
			n++
		}
	}
	return n
}

// follow restores the copy again and again until it has all that was acknowledged
// when it was called.
func (c *copier) follow(l *load) {
	c.t.Helper()
	results, _ := l.acknowledged()
	began := time.Now()
	for {
		folder, err := c.restore()
		lost := len(results)
		if err == nil {
			lost = missing(c.t, folder, results)
		}
		if lost == 0 {
			c.t.Logf("%d results were in the copy, and could be read there, %s after the last of them", len(results), time.Since(began).Round(10*time.Millisecond))
			return
		}
		if time.Since(began) > patience {
			c.t.Fatalf("%d of %d results are not in the copy after %s; %v", lost, len(results), patience, err)
		}
		if !pause(c.t.Context(), 100*time.Millisecond) {
			c.t.FailNow()
		}
	}
}

// TestContinuousCopy copies the database of a busy server while it runs, restarts
// and dies; another server goes on with the copy.
func TestContinuousCopy(t *testing.T) {
	n := newNode(t, "server", "BEEOS_DURABILITY=fsync")
	key := n.owner()
	n.start()
	identity := t.TempDir() + "/id.json"
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: identity, Again: beeos.RedeliverAlways})
	upload(t, n, key)
	c := startCopier(t, n)
	l := startLoad(t, n, a, key)
	l.until(200)
	c.follow(l)

	l.down()
	if _, code := n.proc.terminate(patience); code != 0 {
		t.Errorf("the server ended with code %d", code)
	}
	n.start()
	l.alive()
	l.until(400)
	c.follow(l)
	l.until(500)

	// The machine is gone. What was in the folder besides the database is copied by
	// other means.
	l.down()
	results, _ := l.acknowledged()
	n.proc.Kill()
	c.proc.Kill()
	l.stop()
	l.callers.Wait()
	folder, err := c.restore()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "files"), os.DirFS(filepath.Join(n.setting("BEEOS_DATA"), "files"))); err != nil {
		t.Fatal(err)
	}
	t.Logf("of %d results, %d were acknowledged after what was copied last", len(results), missing(t, folder, results))
	n.env = append(n.env, "BEEOS_DATA="+folder)
	n.command("verify")
	connected := a.connections()
	n.start()
	a.connected(connected)
	if _, err := newCaller(t, n, a.id, key, 1).tool(t.Context(), "still there", "after"); err != nil {
		t.Error(err)
	}
}
