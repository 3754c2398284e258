//go:build unix

package pgtest

import (
	"fmt"
	"os"
	"os/exec"
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
	b, err := s.StartStandby(synchronous)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

// StartStandby is Standby for a program that is not a test; Stop ends it.
func (s *Server) StartStandby(synchronous bool) (*Server, error) {
	dir, err := os.MkdirTemp("/tmp", "beeos-pg-")
	if err != nil {
		return nil, err
	}
	b := &Server{settings: s.settings, bin: s.bin, dir: dir, as: s.as}
	if err := b.follow(s); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if !synchronous {
		return b, nil
	}
	if err := s.set("ALTER SYSTEM SET synchronous_standby_names = '*'"); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// follow copies what another server has, and starts with that.
func (s *Server) follow(primary *Server) error {
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	cmd := s.command(filepath.Join(s.bin, "pg_basebackup"), "-D", filepath.Join(s.dir, "data"), "-h", primary.dir, "-U", "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := s.run(); err != nil {
		return fmt.Errorf("start the standby: %w", err)
	}
	return nil
}

// set changes the settings of a server that runs.
func (s *Server) set(statement string) error {
	for _, statement := range []string{statement, "SELECT pg_reload_conf()"} {
		if err := query(s.bin, s.address("postgres"), statement); err != nil {
			return err
		}
	}
	return nil
}

// Promote lets a standby take writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.TakeOver(); err != nil {
		t.Fatal(err)
	}
}

// TakeOver is Promote for a program that is not a test.
func (s *Server) TakeOver() error {
	if err := query(s.bin, s.address("postgres"), "SELECT pg_promote()"); err != nil {
		return err
	}
	return s.set("ALTER SYSTEM RESET synchronous_standby_names") // it has none
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

// Socket is the path of the Unix socket on which the server listens.
func (s *Server) Socket() string { return filepath.Join(s.dir, socket) }

// Freeze stops every process of the server where it stands: connections stay
// open, new ones are taken by the kernel, and nothing is answered. The end of the
// test thaws it.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { s.Thaw(t) })
	if err := s.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	if err := s.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Kill ends every process of the server at once, also of one that is frozen, and
// leaves what it had written until Stop.
func (s *Server) Kill() error {
	lines, _ := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	err := s.Signal(syscall.SIGKILL)
	// The system keeps a little memory of those who did not return it.
	if all := strings.Split(string(lines), "\n"); len(all) > 6 {
		if memory := strings.Fields(all[6]); len(memory) == 2 {
			exec.Command("ipcrm", "-m", memory[1]).Run() //nolint:errcheck // it is next to nothing
		}
	}
	return err
}

// Signal sends a signal to every process of the server.
func (s *Server) Signal(signal syscall.Signal) error {
	pids, err := s.processes()
	for _, pid := range pids {
		syscall.Kill(pid, signal) //nolint:errcheck // it may have ended
	}
	return err
}

// processes lists the server's, the first one first: once that is stopped, there
// are no others to come.
func (s *Server) processes() (pids []int, err error) {
	lines, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		return nil, nil // it has ended
	}
	first, _, _ := strings.Cut(string(lines), "\n")
	leader, err := strconv.Atoi(first)
	if err != nil {
		return nil, err
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
	return pids, nil
}

// AwaitSync waits until a standby has all that this server has.
func (s *Server) AwaitSync(t testing.TB) {
	t.Helper()
	begun := time.Now()
	if err := s.AwaitStandby(); err != nil {
		t.Fatal(err)
	}
	t.Logf("the standby is in step after %s", time.Since(begun).Round(time.Millisecond))
}

// AwaitStandby is AwaitSync for a program that is not a test.
func (s *Server) AwaitStandby() error {
	return query(s.bin, s.address("postgres"), `DO $$ BEGIN FOR i IN 1..600 LOOP
		IF EXISTS (SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync') THEN RETURN; END IF;
		PERFORM pg_sleep(0.05); PERFORM pg_stat_clear_snapshot();
		END LOOP; RAISE 'no standby is in step'; END $$`)
}
