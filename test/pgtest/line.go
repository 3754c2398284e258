//go:build unix

package pgtest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// Line is a way to PostgreSQL that breaks when the test wants it to.
type Line struct {
	URL string // of the database, this way

	upstream string

	mu     sync.Mutex
	cut    []byte // the answer that is not let through
	away   time.Duration
	closed time.Time // connections are refused until then
	count  int       // of those that were
	conns  []net.Conn
}

const socket = ".s.PGSQL.5432"

// NewLine lays a line to the database at an address of this package.
func NewLine(t testing.TB, address string) *Line {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "line") // a short path, as sockets need
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	ln := &Line{upstream: filepath.Join(q.Get("host"), socket)}
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	ln.URL = u.String()
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	g.Go(func() error {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return nil // the test has ended
			}
			if ln.admits(conn) {
				g.Go(func() error { return ln.carry(conn) })
			} else {
				conn.Close()
			}
		}
	})
	t.Cleanup(func() {
		listener.Close()
		g.Wait() //nolint:errcheck // broken lines are what it is about
		os.RemoveAll(dir)
	})
	return ln
}

// carry ends with one of its ends.
func (ln *Line) carry(conn net.Conn) error {
	db, err := net.Dial("unix", ln.upstream)
	if err != nil {
		conn.Close()
		return err
	}
	var g errgroup.Group
	g.Go(func() error {
		defer db.Close()
		_, err := io.Copy(db, conn)
		return err
	})
	defer g.Wait() //nolint:errcheck // as above
	defer conn.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := db.Read(buf)
		if err != nil || ln.cuts(buf[:n]) {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// CutAt breaks the line at the next answer to a command, such as COMMIT, which
// PostgreSQL has carried out by then. It stays broken for a while.
func (ln *Line) CutAt(command string, away time.Duration) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.cut, ln.away, ln.count = []byte(command+"\x00"), away, 0
}

func (ln *Line) cuts(answer []byte) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if ln.cut == nil || !bytes.Contains(answer, ln.cut) {
		return false
	}
	ln.cut, ln.closed = nil, time.Now().Add(ln.away)
	ln.hangUp()
	return true
}

// Cut ends every connection; others can be made at once.
func (ln *Line) Cut() {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	ln.hangUp()
}

func (ln *Line) hangUp() {
	for _, conn := range ln.conns {
		conn.Close()
	}
	ln.conns = nil
}

func (ln *Line) admits(conn net.Conn) bool {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	if time.Now().Before(ln.closed) {
		ln.count++
		return false
	}
	ln.conns = append(ln.conns, conn)
	return true
}

// Refused counts those who came in vain since the last cut.
func (ln *Line) Refused() int {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.count
}
