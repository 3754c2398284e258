package httpd

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestFullServerRefuses: who comes when all connections are taken is told so at
// once, who is in is served, and whoever watches over the process finds it well.
func TestFullServerRefuses(t *testing.T) {
	s, err := Listen([]Part{{Name: "web", Addr: anyPort, Handler: http.HandlerFunc(ok)}})
	if err != nil {
		t.Fatal(err)
	}
	s.crowd.most, s.crowd.places = 4, make(chan struct{}, 4+refusing)
	run(t, s)
	ask := func(conn net.Conn, path string) string {
		t.Helper()
		io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
		buf := make([]byte, 4<<10)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	enter := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", s.Addr("web"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var in []net.Conn
	for range 4 {
		conn := enter()
		if answer := ask(conn, "/"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Fatal(answer)
		}
		in = append(in, conn)
	}
	for range 3 * refusing {
		answer := ask(enter(), "/")
		if !strings.HasPrefix(answer, "HTTP/1.1 503") || !strings.Contains(answer, "Retry-After: 1") || !strings.Contains(answer, "agent_service_unavailable") {
			t.Fatal(answer)
		}
	}
	if answer := ask(enter(), "/healthz"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
		t.Error(answer)
	}
	for _, conn := range in {
		if answer := ask(conn, "/"); !strings.HasPrefix(answer, "HTTP/1.1 200") {
			t.Error(answer)
		}
	}
	in[0].Close()
	for range 100 { // until the server has heard of it
		if strings.HasPrefix(ask(enter(), "/"), "HTTP/1.1 200") {
			return
		}
	}
	t.Error("there is room, and nobody gets in")
}
