package faults

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

// TestServiceManagerIsTold runs a server as systemd does, with a socket for what it
// has to say and a watchdog.
func TestServiceManagerIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	next := func() string {
		t.Helper()
		var text [100]byte
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(text[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
	n := newNode(t, "server", "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=2000000")
	n.start()
	if got := next(); got != "READY=1" {
		t.Errorf("first it said %q", got)
	}
	for range 2 {
		if got := next(); got != "WATCHDOG=1" {
			t.Errorf("alive, it said %q", got)
		}
	}
	if _, code := n.proc.terminate(patience); code != 0 {
		t.Errorf("it ended with code %d", code)
	}
	got := next()
	for got == "WATCHDOG=1" {
		got = next()
	}
	if got != "STOPPING=1" {
		t.Errorf("at the end it said %q", got)
	}
}
