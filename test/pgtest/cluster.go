//go:build unix

package pgtest

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Option changes a cluster of one's own.
type Option func(*settings)

type settings struct{ fsync bool }

// Fsync makes the cluster keep its promises across a crash of the machine, as
// a real one does. Others are several times faster.
func Fsync(s *settings) { s.fsync = true }

// Server is one running cluster.
type Server struct {
	settings settings
	bin, dir string
	as       *syscall.Credential // nil = whoever runs the tests

	keeper *exec.Cmd
	leash  io.WriteCloser // the keeper ends PostgreSQL when this closes
}

// Cluster starts a cluster that belongs to one test and ends with it.
func Cluster(t testing.TB, opts ...Option) *Server {
	t.Helper()
	server, err := Start(opts...)
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(server.stop)
	return server
}

// Start starts a cluster for a program that is not a test; Stop ends it.
func Start(opts ...Option) (*Server, error) {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	return start(s)
}

// Stop ends the cluster and forgets its data.
func (s *Server) Stop() { s.stop() }

// URL makes a fresh database on the cluster and returns its address.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	address, err := s.Database()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Database is URL for a program that is not a test.
func (s *Server) Database() (string, error) {
	name := freshName()
	return s.address(name), query(s.bin, s.address("postgres"), "CREATE DATABASE "+name)
}

// Crash ends PostgreSQL without a chance to tidy up and starts it again on
// what it has left on disk.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	if err := s.Restart(); err != nil {
		t.Fatalf("start PostgreSQL again: %v", err)
	}
}

// Restart is Crash for a program that is not a test.
func (s *Server) Restart() error {
	io.WriteString(s.leash, "stay\n") //nolint:errcheck // a keeper that is gone shows in run
	s.stop()
	return s.run()
}

// address uses a Unix socket in the cluster's own folder: no port to collide.
func (s *Server) address(database string) string {
	q := url.Values{"host": {s.dir}, "user": {"postgres"}}
	return "postgres:///" + database + "?" + q.Encode()
}

func start(set settings) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	as, err := account()
	if err != nil {
		return nil, err
	}
	// Not t.TempDir: the path of a Unix socket may have 107 characters only.
	dir, err := os.MkdirTemp("/tmp", "beeos-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{settings: set, bin: bin, dir: dir, as: as}
	if err := s.create(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	if err := s.run(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// account says as whom to run PostgreSQL, which refuses to be root.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("running as root, and there is no user postgres or nobody to run PostgreSQL as")
}

func (s *Server) create() error {
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	cmd := s.command(filepath.Join(s.bin, "initdb"), "-D", filepath.Join(s.dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// keep runs PostgreSQL ($1 is the folder, the rest the command) for as long as
// standard input stays open. That is a pipe from the test binary, so it
// closes when that ends, be it by a panic or a signal. One that was frozen goes on
// to hear that it is over.
const keep = `dir=$1; shift
"$@" >>"$dir/log" 2>&1 </dev/null &
read -r word
kill -QUIT $!
kill -CONT $!
wait $!
[ "$word" = stay ] || rm -rf "$dir"`

func (s *Server) run() error {
	fsync := "off"
	if s.settings.fsync {
		fsync = "on"
	}
	cmd := s.command("/bin/sh", "-c", keep, "sh", s.dir,
		filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "fsync="+fsync, "-c", "full_page_writes="+fsync,
		"-c", "max_connections=200", "-c", "shared_buffers=32MB",
		"-c", "deadlock_timeout=50ms") // tests that make deadlocks need not wait a second for each
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.keeper, s.leash = cmd, leash
	return s.await()
}

// startLimit is generous: the machine may be busy with other tests.
const startLimit = time.Minute

func (s *Server) await() error {
	for end := time.Now().Add(startLimit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if exec.Command(filepath.Join(s.bin, "pg_isready"), "-q", "-h", s.dir).Run() == nil {
			return nil
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	s.stop()
	return fmt.Errorf("it is not ready after %s; its log:\n%s", startLimit, bytes.TrimSpace(log))
}

// stop waits until PostgreSQL is gone.
func (s *Server) stop() {
	s.leash.Close()
	s.keeper.Wait() //nolint:errcheck // it reports the signal that we sent
}

// command runs a program of the cluster: as its user, in its folder, out of
// reach of the terminal's Ctrl-C.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.as}
	return cmd
}
