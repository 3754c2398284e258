//go:build amd64 && !race

package rest_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// TestStreamsWaitOnSmallStacks is what internal/surface/mcp/depth_test.go says, for
// the streams of this surface.
func TestStreamsWaitOnSmallStacks(t *testing.T) {
	const (
		many    = 50
		shallow = 16<<10/4 - 800 // the depth to which a stack of 16 KB is halved
		beside  = 680            // how deep net/http waits for the client to leave
	)
	s := start(t)
	server := httptest.NewServer(s.bare)
	t.Cleanup(server.Close)
	turns := s.silent()
	task := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"a"}`)
	<-turns
	for name, tt := range map[string]struct {
		line, body string
	}{
		"events of a task":    {"GET " + s.tasksPath() + "/" + task.ID + "/events", ""},
		"events of a channel": {"GET /channels/" + task.ContextID + "/events", ""},
		"a streamed invoke":   {"POST " + s.invokePath(), `{"message":"b"}`},
	} {
		before := stacksInUse()
		for range many {
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", tt.line, s.key, len(tt.body), tt.body)
			if tt.body != "" {
				<-turns
				continue
			}
			if head, err := bufio.NewReader(c).ReadString('\n'); err != nil || head != "HTTP/1.1 200 OK\r\n" {
				t.Fatal(head, err)
			}
		}
		each := shallow + beside
		tick := time.NewTicker(2 * time.Millisecond)
		for end := time.Now().Add(5 * time.Second); each >= shallow+beside && time.Now().Before(end); <-tick.C {
			each = (stacksInUse() - before) / many
		}
		tick.Stop()
		if each >= shallow+beside {
			t.Errorf("%s: waits %d bytes deep, which keeps a stack of 16 KB in use; %d would not", name, each-beside, shallow)
		}
		t.Logf("%s: %d", name, each-beside)
	}
}

// stacksInUse is how many bytes of stack all goroutines together use.
func stacksInUse() int {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/scan/stack:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
