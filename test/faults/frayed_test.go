package faults

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// frayed is a line to several servers that breaks: each connection goes to one
// of them, until it is cut.
type frayed struct {
	url      string
	servers  []string // host:port
	accepted atomic.Int64

	mu   sync.Mutex
	open map[*strand]bool
}

// strand is one connection through the line.
type strand struct {
	client, server net.Conn
	torn           atomic.Bool // the next bytes are the last, and not all of them
}

// newFrayed listens until the test ends.
func newFrayed(t testing.TB, servers ...string) *frayed {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frayed{url: "http://" + ln.Addr().String(), open: map[*strand]bool{}}
	for _, s := range servers {
		f.servers = append(f.servers, strings.TrimPrefix(s, "http://"))
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { f.carry(conn) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		f.mu.Lock()
		for s := range f.open {
			s.close()
		}
		f.mu.Unlock()
		running.Wait()
	})
	return f
}

func (f *frayed) carry(conn net.Conn) {
	server, err := net.Dial("tcp", f.servers[rand.N(len(f.servers))])
	if err != nil {
		conn.Close()
		return
	}
	f.accepted.Add(1)
	s := &strand{client: conn, server: server}
	f.mu.Lock()
	f.open[s] = true
	f.mu.Unlock()
	var up sync.WaitGroup
	up.Go(func() {
		io.Copy(server, conn) //nolint:errcheck // its end is the other's
		s.close()
	})
	s.down()
	s.close()
	up.Wait()
	f.mu.Lock()
	delete(f.open, s)
	f.mu.Unlock()
}

// down carries what the server says.
func (s *strand) down() {
	b := make([]byte, 32<<10)
	for {
		n, err := s.server.Read(b)
		torn := s.torn.Load()
		if torn && n > 0 {
			n = rand.N(n)
		}
		if _, bad := s.client.Write(b[:n]); bad != nil || err != nil || torn {
			return
		}
	}
}

func (s *strand) close() {
	s.client.Close() //nolint:errcheck // it may be gone
	s.server.Close() //nolint:errcheck // it may be gone
}

// cut breaks one of the connections, now or within the next thing said on it;
// false when there is none.
func (f *frayed) cut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.open { // in random order
		if s.torn.Swap(true) {
			continue
		}
		if rand.N(2) == 0 {
			s.close()
		}
		return true
	}
	return false
}
