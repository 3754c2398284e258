//go:build unix

package database

import (
	"net"
	"path/filepath"
	"testing"
)

// TestStale: a connection is in order while nothing comes, also when somebody
// reads from it already, and not when the other side has left.
func TestStale(t *testing.T) {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	other, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if isStale(conn) {
		t.Error("a quiet connection is stale")
	}
	ended := make(chan struct{})
	go func() { // awaited below
		defer close(ended)
		var one [1]byte
		conn.Read(one[:]) //nolint:errcheck // it ends with the other side
	}()
	for range 100 { // in one of them the reader waits already
		if isStale(conn) {
			t.Error("a connection with a reader is stale")
		}
	}
	other.Close()
	<-ended
	if !isStale(conn) {
		t.Error("a connection without another side is in order")
	}
}
