//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func ask(t *testing.T, url, query string) string {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "psql"), "-X", "-A", "-t", "-d", url, "-c", query).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", query, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestURLsAreFreshDatabases(t *testing.T) {
	a, b := URL(t), URL(t)
	if a == b {
		t.Fatalf("the same database twice: %s", a)
	}
	ask(t, a, "CREATE TABLE x (n int)")
	if got := ask(t, b, "SELECT count(*) FROM pg_tables WHERE tablename = 'x'"); got != "0" {
		t.Errorf("a table of one database shows in the other")
	}
}

func TestCrashKeepsCommittedRows(t *testing.T) {
	server := Cluster(t, Fsync)
	url := server.URL(t)
	if got := ask(t, url, "SHOW fsync"); got != "on" {
		t.Fatalf("fsync is %s", got)
	}
	ask(t, url, "CREATE TABLE x AS SELECT 42 AS n")
	server.Crash(t)
	if got := ask(t, url, "SELECT n FROM x"); got != "42" {
		t.Errorf("after the crash: %q", got)
	}
}

// TestStandbyTakesOver, one after the other: what was acknowledged before the
// primary froze or was killed is there.
func TestStandbyTakesOver(t *testing.T) {
	primary := Cluster(t, Fsync)
	made, url := primary, primary.URL(t)
	ask(t, url, "CREATE TABLE x AS SELECT 0 AS n")
	for _, end := range []func(*Server) error{(*Server).Kill, func(s *Server) error { return s.Signal(syscall.SIGSTOP) }} {
		standby, err := primary.StartStandby(true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			standby.Kill() // a frozen one does not stop
			standby.Stop()
		})
		if err := primary.AwaitStandby(); err != nil {
			t.Fatal(err)
		}
		ask(t, primary.At(url, made), "UPDATE x SET n = n + 1")
		if err := end(primary); err != nil {
			t.Fatal(err)
		}
		if err := standby.TakeOver(); err != nil {
			t.Fatal(err)
		}
		primary = standby
	}
	if got := ask(t, primary.At(url, made), "UPDATE x SET n = n + 1 RETURNING n"); !strings.HasPrefix(got, "3") {
		t.Errorf("after two of them: %q", got)
	}
}

func TestNothingStaysBehind(t *testing.T) {
	var dir string
	t.Run("cluster", func(t *testing.T) { dir = Cluster(t).dir })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

// dieVar turns TestPanic into the child of TestNothingStaysBehindAfterPanic.
const dieVar = "PGTEST_DIE"

func TestPanic(t *testing.T) {
	note := os.Getenv(dieVar)
	if note == "" {
		return
	}
	server, err := start(settings{})
	if err == nil {
		err = os.WriteFile(note, []byte(server.dir), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	panic("die with a cluster running")
}

func TestNothingStaysBehindAfterPanic(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	child := exec.Command(os.Args[0], "-test.run=^TestPanic$")
	child.Env = append(os.Environ(), dieVar+"="+note)
	if out, err := child.CombinedOutput(); err == nil || !strings.Contains(string(out), "die with a cluster running") {
		t.Fatalf("the child did not die as it should: %v\n%s", err, out)
	}
	dir, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(string(dir)); os.IsNotExist(err) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is still there", dir)
		}
	}
}
