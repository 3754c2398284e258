//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Standby starts a server that follows this one and only reads until it is
// promoted. Synchronous makes this one wait for it with every commit, so that
// nothing that was acknowledged is missing there.
func (s *Server) Standby(t testing.TB, synchronous bool) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "beeos-pg-")
	if err != nil {
		t.Fatal(err)
	}
	b := &Server{settings: s.settings, bin: s.bin, dir: dir, as: s.as}
	if b.as != nil {
		if err := os.Chown(dir, int(b.as.Uid), int(b.as.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := b.command(filepath.Join(b.bin, "pg_basebackup"), "-D", filepath.Join(dir, "data"), "-h", s.dir, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if err := b.run(); err != nil {
		os.RemoveAll(dir)
		t.Fatalf("start the standby: %v", err)
	}
	t.Cleanup(b.stop)
	if synchronous {
		psql(t, s.bin, s.address("postgres"), "ALTER SYSTEM SET synchronous_standby_names = '*'")
		psql(t, s.bin, s.address("postgres"), "SELECT pg_reload_conf()")
	}
	return b
}

// Promote lets a standby take writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	psql(t, s.bin, s.address("postgres"), "SELECT pg_promote()")
	psql(t, s.bin, s.address("postgres"), "ALTER SYSTEM RESET synchronous_standby_names") // it has none
	psql(t, s.bin, s.address("postgres"), "SELECT pg_reload_conf()")
}

// Both is the address of a database on this server or the other one, whichever
// takes writes.
func (s *Server) Both(address string, other *Server) string {
	return strings.ReplaceAll(address, strings.ReplaceAll(s.dir, "/", "%2F"), strings.ReplaceAll(s.dir+","+other.dir, "/", "%2F"))
}

// At is a database's address on this server, which is one that follows the server
// where it was made.
func (s *Server) At(address string, made *Server) string {
	return strings.ReplaceAll(address, strings.ReplaceAll(made.dir, "/", "%2F"), strings.ReplaceAll(s.dir, "/", "%2F"))
}

// Freeze stops every process of the server where it stands: connections stay
// open, new ones are taken by the kernel, and nothing is answered. The end of the
// test thaws it.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { s.Thaw(t) })
	for _, pid := range s.processes(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	for _, pid := range s.processes(t) {
		syscall.Kill(pid, syscall.SIGCONT) //nolint:errcheck // it may have ended
	}
}

// processes lists the server's, the first one first.
func (s *Server) processes(t testing.TB) (pids []int) {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		return nil // it has ended
	}
	first, _, _ := strings.Cut(string(lines), "\n")
	leader, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	pids = append(pids, leader)
	found, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range found {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid, parent int
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		var state string
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == leader {
			pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// AwaitSync waits until a standby has all that this server has.
func (s *Server) AwaitSync(t testing.TB) {
	t.Helper()
	wait := `DO $$ BEGIN FOR i IN 1..600 LOOP
		IF EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync') THEN RETURN; END IF;
		PERFORM pg_sleep(0.05); PERFORM pg_stat_clear_snapshot();
		END LOOP; RAISE 'no standby is in step'; END $$`
	begun := time.Now()
	psql(t, s.bin, s.address("postgres"), wait)
	t.Logf("the standby is in step after %s", time.Since(begun).Round(time.Millisecond))
}
