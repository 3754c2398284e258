//go:build unix

package pgtest

import (
	"bytes"
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
	mute   chan struct{} // what the cut does instead of hanging up; nil = it hangs up
	muted  chan struct{} // nothing is passed on until it is closed; nil = it is
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
		return ln.pass(db, conn, func([]byte) bool { return false })
	})
	defer g.Wait() //nolint:errcheck // as above
	defer conn.Close()
	return ln.pass(conn, db, ln.cuts)
}

// pass passes on what comes from one end to the other.
func (ln *Line) pass(to, from net.Conn, cuts func([]byte) bool) error {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil || cuts(buf[:n]) {
			return err
		}
		ln.mu.Lock()
		muted := ln.muted
		ln.mu.Unlock()
		if muted != nil {
			<-muted
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// Mute lets nothing through any more, either way; connections stay, and others can
// be made. The end of the test lets it go on.
func (ln *Line) Mute(t testing.TB) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	muted := make(chan struct{})
	ln.muted = muted
	t.Cleanup(func() { close(muted) })
}

// MuteAt is Mute from the next answer to a command on, which PostgreSQL has
// carried out by then.
func (ln *Line) MuteAt(t testing.TB, command string) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	mute := make(chan struct{})
	ln.cut, ln.mute = []byte(command+"\x00"), mute
	t.Cleanup(func() { close(mute) })
}

// Beside is the address of the database by two ways: this line, and when that does
// not answer, another one.
func (ln *Line) Beside(t testing.TB, other string) string {
	t.Helper()
	here, err1 := url.Parse(ln.URL)
	there, err2 := url.Parse(other)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	q := here.Query()
	q.Set("host", q.Get("host")+","+there.Query().Get("host"))
	here.RawQuery = q.Encode()
	return here.String()
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
	if ln.cut = nil; ln.mute != nil {
		ln.muted, ln.mute = ln.mute, nil
		return false
	}
	ln.closed = time.Now().Add(ln.away)
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
