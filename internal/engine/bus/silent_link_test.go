package bus

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// mutable is a way to a server that goes silent when the test wants it to: what is
// said gets lost, and nobody is told.
type mutable struct {
	net.Listener
	mu    sync.Mutex
	muted bool
}

func newMutable(t *testing.T, to string) *mutable {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mutable{Listener: ln}
	var done sync.WaitGroup
	var open []net.Conn
	pass := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if m.isMuted() && err == nil {
				io.Copy(io.Discard, from) //nolint:errcheck // a stream with a gap is no use any more
				return
			}
			if _, bad := to.Write(buf[:n]); err != nil || bad != nil {
				return
			}
		}
	}
	done.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if m.isMuted() { // as when nobody answers who wants to connect
				conn.Close()
				continue
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				conn.Close()
				continue
			}
			m.mu.Lock()
			open = append(open, conn, server)
			m.mu.Unlock()
			done.Go(func() { pass(server, conn) })
			done.Go(func() { pass(conn, server) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		m.mu.Lock()
		for _, c := range open {
			c.Close()
		}
		m.mu.Unlock()
		done.Wait()
	})
	return m
}

func (m *mutable) isMuted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.muted
}

func (m *mutable) mute(muted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.muted = muted
}

// TestHealedLinkCarriesAtOnce: the way between two nodes swallows everything for a
// while. Soon after it is healed they can call each other's agents again.
func TestHealedLinkCarriesAtOnce(t *testing.T) {
	t.Parallel() // it only waits
	a := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s"})
	way := newMutable(t, strings.TrimPrefix(a.RouteURL(), "nats://"))
	b := open(t, Options{Cluster: "127.0.0.1:0", Secret: "s", Routes: []string{"nats://" + way.Addr().String()}})
	if _, err := a.Serve("agent_a", func(Dispatch) bool { return true }); err != nil {
		t.Fatal(err)
	}
	reaches := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return b.Deliver(ctx, Dispatch{AgentID: "agent_a"}) == nil
	}
	eventually(t, "they mesh", reaches)
	way.mute(true)
	time.Sleep(12 * time.Second)
	if reaches() {
		t.Fatal("the way was not muted")
	}
	way.mute(false)
	began := time.Now()
	eventually(t, "they mesh again", reaches)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("healed after %s", took.Round(time.Millisecond))
	}
}

// TestSilentNATSIsLeft: one of two ways to NATS swallows everything from now on.
// The node that has it goes on by the other.
func TestSilentNATSIsLeft(t *testing.T) {
	t.Parallel() // it only waits
	srv := startNATS(t)
	one, other := newMutable(t, srv.Addr().String()), newMutable(t, srv.Addr().String())
	a := open(t, Options{URL: srv.ClientURL()})
	b := open(t, Options{URL: "nats://" + one.Addr().String() + ",nats://" + other.Addr().String()})
	if _, err := a.Serve("agent_a", func(Dispatch) bool { return true }); err != nil {
		t.Fatal(err)
	}
	reaches := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		return b.Deliver(ctx, Dispatch{AgentID: "agent_a"}) == nil
	}
	eventually(t, "they share NATS", reaches)
	taken := one
	if b.nc.ConnectedAddr() == other.Addr().String() {
		taken = other
	}
	taken.mute(true)
	began := time.Now()
	if reaches() {
		t.Fatal("the way was not muted")
	}
	for !reaches() && time.Since(began) < 20*time.Second {
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("the other way after %s", took.Round(time.Millisecond))
	}
}

// TestAgentsThatLiveComeFirst: a node whose agents give no sign of life is asked
// last, and then for anyone.
func TestAgentsThatLiveComeFirst(t *testing.T) {
	pairs(t, func(t *testing.T, a, b *Bus) {
		var mu sync.Mutex
		got := map[string]int{}
		serve := func(name string, on *Bus, lives bool) {
			if _, err := on.Serve("agent_x", func(d Dispatch) bool {
				mu.Lock()
				defer mu.Unlock()
				if lives || d.Anyone {
					got[name]++
				}
				return lives || d.Anyone
			}); err != nil {
				t.Fatal(err)
			}
		}
		serve("frozen", a, false)
		eventually(t, "the frozen one has it", func() bool { return a.Deliver(t.Context(), Dispatch{AgentID: "agent_x"}) == nil })
		serve("living", b, true)
		eventually(t, "the living one gets all", func() bool {
			mu.Lock()
			clear(got)
			mu.Unlock()
			for range 10 {
				if err := a.Deliver(t.Context(), Dispatch{AgentID: "agent_x"}); err != nil {
					t.Fatal(err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			return got["living"] == 10
		})
	})
}
