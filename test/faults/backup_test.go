package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// backupsVar says how many backups to take; CI takes few.
const backupsVar = "FAULTS_BACKUPS"

// TestBackupsUnderLoad takes backups of a server that callers never leave alone.
// Each restores into a sound ledger, in which all is that had been acknowledged
// before the backup began.
func TestBackupsUnderLoad(t *testing.T) {
	backups := 3
	if n, err := strconv.Atoi(os.Getenv(backupsVar)); err == nil {
		backups = n
	}
	n := newNode(t, "server", "BEEOS_DURABILITY=fsync")
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
		n.command("backup", file)
		took := time.Since(at)
		n.command("restore", file, "--data", data)
		n.command("verify", "--data", data)
		db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(data, "beeos.db"))
		if err != nil {
			t.Fatal(err)
		}
		saved := records{t, db}
		saved.holds(results, messages)
		t.Logf("backup %d took %s and holds the %d results and %d messages acknowledged before it", i+1, took.Round(time.Millisecond), len(results), len(messages))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	n.command("verify") // the server itself, as it runs
	results, messages := l.acknowledged()
	t.Logf("%.0f calls a second", float64(len(results)+len(messages))/time.Since(began).Seconds())
	l.finish()
	l.check()
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
