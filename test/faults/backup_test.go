package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// backupsVar says how many backups to take; CI takes one of each database.
const backupsVar = "FAULTS_BACKUPS"

// Whoever takes as many as campaignOf wants to know that the server was busy with
// leastCalls a second meanwhile.
const (
	campaignOf = 20
	leastCalls = 200
)

// TestBackupsUnderLoad takes backups of a server that callers never leave alone.
// Each restores into a sound ledger, in which all is that had been acknowledged
// before the backup began.
func TestBackupsUnderLoad(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		backUpUnderLoad(t, newNode(t, "server", "BEEOS_DURABILITY=fsync"), (*node).saveFolder, (*node).restoreFolder)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		db := pgtest.Cluster(t, pgtest.Fsync)
		restore := func(n *node, file, data string) *node { return n.restoreTables(file, data, db.URL(t)) }
		backUpUnderLoad(t, newNode(t, "server", "DATABASE_URL="+db.URL(t)), (*node).saveTables, restore)
	})
}

func backUpUnderLoad(t *testing.T, n *node, save func(n *node, file string), restore func(n *node, file, data string) *node) {
	backups := 1
	if n, err := strconv.Atoi(os.Getenv(backupsVar)); err == nil {
		backups = n
	}
	key := n.owner()
	n.start()
	a := startAgent(t, "agent", spec{Name: "echo", Gateway: n.agents, Key: key, Identity: t.TempDir() + "/id.json", Again: beeos.RedeliverAlways})
	upload(t, n, key)
	l := startLoad(t, n, a, key)
	began := time.Now()
	for i := range backups {
		l.until(50 * (i + 1)) // something new since the one before
		results, messages := l.acknowledged()
		file, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
		at := time.Now()
		save(n, file)
		took := time.Since(at)
		restored := restore(n, file, data)
		restored.command("verify")
		records{t, restored.open()}.holds(results, messages)
		t.Logf("backup %d took %s and holds the %d results and %d messages acknowledged before it", i+1, took.Round(time.Millisecond), len(results), len(messages))
	}
	n.command("verify") // the server itself, as it runs
	results, messages := l.acknowledged()
	rate := float64(len(results)+len(messages)) / time.Since(began).Seconds()
	t.Logf("%.0f calls a second", rate)
	if backups >= campaignOf && rate < leastCalls {
		t.Errorf("the server answered %.0f calls a second, not %d: this shows nothing about a busy one; is the machine busy with something else?", rate, leastCalls)
	}
	l.finish()
	l.check()
}

func (n *node) saveFolder(file string) { n.command("backup", file) }

func (n *node) restoreFolder(file, data string) *node {
	n.command("restore", file, "--data", data)
	return n.with("BEEOS_DATA=" + data)
}

// saveTables saves a server on PostgreSQL as docs/how-to/backup.md says: the tables
// first, then everything that they name.
func (n *node) saveTables(file string) {
	n.postgres("pg_dump", "--format=custom", "--file="+file+".dump", n.dsn())
	n.command("backup", file)
}

func (n *node) restoreTables(file, data, url string) *node {
	n.postgres("pg_restore", "--no-owner", "--exit-on-error", "--dbname="+url, file+".dump")
	restored := n.with("BEEOS_DATA="+data, "DATABASE_URL="+url)
	restored.command("restore", file)
	return restored
}

// postgres runs one of PostgreSQL's own programs.
func (n *node) postgres(name string, args ...string) {
	n.t.Helper()
	path, err := pgtest.Program(name)
	if err != nil {
		n.t.Fatal(err)
	}
	if out, err := exec.CommandContext(n.t.Context(), path, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// with is the node with other settings, for commands beside it.
func (n *node) with(settings ...string) *node {
	return &node{t: n.t, name: n.name, env: append(slices.Clone(n.env), settings...)}
}

// upload gives the server a file to keep.
func upload(t *testing.T, n *node, key string) {
	t.Helper()
	note := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(note, []byte("some bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.command("files", "upload", note, "--url", n.rest, "--key", key)
}

// command runs one of the program's commands with the settings of the server. It
// must succeed.
func (n *node) command(args ...string) {
	n.t.Helper()
	cmd := exec.CommandContext(n.t.Context(), binary(n.t), args...)
	cmd.Env = append([]string{"HOME=" + n.t.TempDir(), "PATH=" + os.Getenv("PATH")}, n.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("beeos %v: %v\n%s", args, err, out)
	}
}

// acknowledged is what callers have been told so far.
func (l *load) acknowledged() ([]result, []beeos.Message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]result(nil), l.results...), append([]beeos.Message(nil), l.messages...)
}

// until waits for so many results.
func (l *load) until(results int) {
	l.t.Helper()
	for end := time.Now().Add(patience); ; {
		if got, _ := l.acknowledged(); len(got) >= results {
			return
		}
		if time.Now().After(end) || !pause(l.t.Context(), 10*time.Millisecond) {
			l.t.Fatalf("there are no %d results after %s", results, patience)
		}
	}
}

// holds complains of what was acknowledged and is not here.
func (r records) holds(results []result, messages []beeos.Message) {
	r.t.Helper()
	replies, stored := map[string]string{}, map[string]string{}
	r.each(`SELECT i.key, a.body FROM idempotency i JOIN messages a ON a.terminal AND a.in_reply_to = i.turn`, func(key, body string) { replies[key] = body })
	r.each(`SELECT id, channel || ' ' || off || ' ' || body FROM messages WHERE type = 'chat_message'`, func(id, text string) { stored[id] = text })
	for _, got := range results {
		if replies[got.key] != echoed(got.text) {
			r.t.Errorf("%s was answered before the backup and is in it as %q", got.key, replies[got.key])
		}
	}
	for _, m := range messages {
		if want := fmt.Sprint(m.Channel, " ", m.Offset>>offsetShift, " ", m.Body); stored[m.ID] != want {
			r.t.Errorf("message %s was acknowledged before the backup as %q and is in it as %q", m.ID, want, stored[m.ID])
		}
	}
}
