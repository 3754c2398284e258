package faults

import (
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/test/ports"
)

// halves are beginnings of requests that somebody without a credential sends,
// and never ends.
var halves = map[string]string{
	"headers": "POST /api/v1/agents/join HTTP/1.1\r\nHost: localhost\r\nX-Half",
	"form":    "POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ne",
	"json":    "POST /api/v1/agents/join HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{",
	"token":   "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ng",
	"frames": "POST /api/v1/agents/frames HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 4000000\r\n" +
		"Authorization: Ed25519 inst_none:1:n:AAAA\r\n\r\n" + strings.Repeat("x", 1000),
	"chunks": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"js",
}

// TestHalfSentRequestsHoldNothing: two thousand requests that strangers begin and
// never end, on every listener, are all gone within half a minute, and callers
// get their answers meanwhile.
func TestHalfSentRequestsHoldNothing(t *testing.T) {
	aside(t)
	web := ports.Addr(t)
	n := newNode(t, "server", "WEB_ADDR="+web)
	key := n.owner()
	n.start()
	b := newBystander(t, n, key)
	var addrs []string
	for _, url := range []string{n.mcp, n.rest, n.agents, n.a2a, "http://" + web} {
		addrs = append(addrs, strings.TrimPrefix(url, "http://"))
	}
	b.suffer(t, "half-sent requests", func() {
		longest, err := holdMany(addrs, 400)
		if err != nil {
			t.Error(err)
		}
		t.Logf("the last of %d was off after %s", 400*len(addrs), longest)
	})
}

// holdMany begins so many requests at each address, and waits until the server
// has hung up on all of them.
func holdMany(addrs []string, each int) (longest time.Duration, err error) {
	var held errgroup.Group
	var mu sync.Mutex
	kinds := slices.Sorted(maps.Keys(halves))
	for i := range each {
		for _, addr := range addrs {
			held.Go(func() error {
				kind := kinds[i%len(kinds)]
				took, err := hold(addr, halves[kind])
				mu.Lock()
				longest = max(longest, took)
				mu.Unlock()
				return named(kind, addr, err)
			})
		}
	}
	err = held.Wait()
	return longest, err
}

// hold sends the beginning of a request and waits until the server hangs up.
func hold(addr, half string) (time.Duration, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	start := time.Now()
	if _, err := io.WriteString(conn, half); err != nil {
		return 0, err
	}
	if err := conn.SetReadDeadline(start.Add(2 * patience)); err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, conn)
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		return time.Since(start), fmt.Errorf("held for %s", time.Since(start))
	}
	return time.Since(start), nil // a reset is an end, too
}

// residentMemory is how much memory a process has, in bytes.
func residentMemory(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
