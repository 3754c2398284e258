package ports

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// childVar turns TestHold into the child of TestReservedForTheWholeMachine.
const childVar = "PORTS_CHILD"

// TestHold reserves a port, says which, and keeps it until its input ends.
func TestHold(t *testing.T) {
	if os.Getenv(childVar) == "" {
		return
	}
	fmt.Println(Number(t))
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // only its end matters
}

func TestReservedForTheWholeMachine(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestHold$")
	child.Env = append(os.Environ(), childVar+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, _, err := bufio.NewReader(out).ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(os.TempDir(), "beeos-ports", string(line))
	if f, err := lockFile(lock); err == nil {
		f.Close()
		t.Errorf("port %s is reserved twice", line)
	}
	in.Close()
	child.Wait() //nolint:errcheck // how it ends does not matter
	f, err := lockFile(lock)
	if err != nil {
		t.Fatalf("port %s stays reserved: %v", line, err)
	}
	f.Close()
}

func TestNumbersDifferAndCanBeListenedOn(t *testing.T) {
	outgoing, seen := outgoingRange(), map[string]bool{}
	for range 50 {
		addr := Addr(t)
		if seen[addr] {
			t.Fatalf("%s twice", addr)
		}
		seen[addr] = true
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		if port := ln.Addr().(*net.TCPAddr).Port; outgoing.has(port) {
			t.Errorf("%d is one of those for outgoing connections", port)
		}
	}
}

func TestNumberIsFreeAfterTheTest(t *testing.T) {
	var port int
	t.Run("test", func(t *testing.T) { port = Number(t) })
	f, err := lockFile(filepath.Join(os.TempDir(), "beeos-ports", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}
