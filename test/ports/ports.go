// Package ports reserves port numbers for tests whose servers are told where to
// listen, or come back where they were: a number belongs to one test on the
// whole machine, whichever program that test runs in, until it ends. A server
// that need not be found twice listens on port 0 instead and says where it is.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// lowest leaves out what well-known services listen on.
const lowest = 10000

// Addr reserves a loopback address, host:port, until the test ends.
func Addr(t testing.TB) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", Number(t))
}

// Number reserves the number of a port until the test ends.
func Number(t testing.TB) int {
	t.Helper()
	port, free, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	return port
}

// Reserve is Number for a program that is not a test. The number is free again
// after free, or when the program has ended, however it ends.
func Reserve() (port int, free func(), err error) {
	dir := filepath.Join(os.TempDir(), "beeos-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, nil, err
	}
	os.Chmod(dir, 0o777) //nolint:errcheck // another user's folder is open already
	outgoing := outgoingRange()
	for range 10000 {
		port := lowest + rand.IntN(1<<16-lowest)
		if outgoing.has(port) {
			continue
		}
		// The lock comes first: looking whether a port is in use takes it for a
		// moment from the server it is reserved for.
		lock, err := lockFile(filepath.Join(dir, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if isUnused(port) {
			return port, func() { lock.Close() }, nil
		}
		lock.Close()
	}
	return 0, nil, errors.New("no free port outside the range for outgoing connections")
}

// Addrs reserves n loopback addresses, host:port, until free.
func Addrs(n int) (addrs []string, free func(), err error) {
	var all []func()
	free = func() {
		for _, f := range all {
			f()
		}
	}
	for range n {
		port, f, err := Reserve()
		if err != nil {
			free()
			return nil, nil, err
		}
		addrs, all = append(addrs, fmt.Sprint("127.0.0.1:", port)), append(all, f)
	}
	return addrs, free, nil
}

// isUnused says whether nothing listens on the port, at any address.
func isUnused(port int) bool {
	ln, err := net.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

type portRange struct{ first, last int }

func (r portRange) has(port int) bool { return r.first <= port && port <= r.last }

// outgoingRange is what the system picks from for outgoing connections and for
// port 0. An agent that dials a dead server again and again would sooner or
// later be given the server's own port.
func outgoingRange() portRange {
	r := portRange{32768, 65535} // covers what other systems use
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		fmt.Sscan(string(text), &r.first, &r.last) //nolint:errcheck // two numbers, by its documentation
	}
	if r.first <= lowest && r.last > 1<<16-1000 {
		return portRange{} // the system was told to use all of them
	}
	return r
}
