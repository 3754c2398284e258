//go:build amd64 && !race

package mcp

import (
	"bufio"
	"net/http"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/beeos/beeos"
)

// shallow is how deep a goroutine may wait. Its stack has grown to 16 KB while
// the request was checked and its headers were written; a garbage collection
// halves it if less than a quarter is in use, for which it counts 800 bytes
// that functions without a check may need.
const shallow = 16<<10/4 - 800

// beside is how deep net/http waits beside it for the client to leave.
const beside = 680

// TestStreamsWaitOnSmallStacks: an open stream costs what its goroutine's stack
// does. When this fails, some function between ServeHTTP and the wait has
// grown: go tool objdump shows frames (SUBQ $size, SP). Pass large values by
// pointer, and do what needs room in a function that returns before the wait.
func TestStreamsWaitOnSmallStacks(t *testing.T) {
	const many = 50
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"silent","_meta":{"progressToken":1}}}`
	s := newStack(t)
	s.sync(t, func(d *beeos.Definition) { d.TimeoutMS = 60_000 })
	session := s.handshake(t, "clerk", "user", `{}`)
	for _, tt := range []struct {
		name    string
		calls   bool
		request func() *http.Request
	}{
		{"the stream of a session", false, func() *http.Request { return s.streamRequest(t.Context(), t, s.server.URL, session) }},
		{"subscriptions/listen", false, func() *http.Request {
			return s.modernRequest(t.Context(), t, s.server.URL, "user", "subscriptions/listen", "", `{}`, `"notifications":{"toolsListChanged":true}`)
		}},
		{"a call in a session", true, func() *http.Request { return s.request(t.Context(), t, s.server.URL, "clerk", "user", session, call) }},
		{"a call without one", true, func() *http.Request { return s.request(t.Context(), t, s.server.URL, "clerk", "user", "", call) }},
	} {
		before, called := stacksInUse(), len(s.frames())
		for range many {
			c := s.raw(t, s.server.Listener.Addr(), tt.request())
			if tt.calls {
				continue
			}
			if _, err := bufio.NewReader(c).ReadSlice('\n'); err != nil { // until it is open
				t.Fatal(err)
			}
		}
		if tt.calls {
			s.until(t, "the agent has all calls", func() bool { return len(s.frames()) == called+many })
		}
		each := 0
		s.until(t, tt.name+" waits where a stack of 8 KB will do", func() bool {
			each = (stacksInUse() - before) / many
			return each < shallow+beside
		})
		t.Logf("%s waits %d bytes deep", tt.name, each-beside)
	}
}

// stacksInUse is how many bytes of stack all goroutines together use.
func stacksInUse() int {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/scan/stack:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
