package httpd

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/telemetry"
)

// TestAnnouncedStopIsNotReady: who asks whether to send requests here is told not to,
// on every listener, before anything is refused; and connections end with an answer.
func TestAnnouncedStopIsNotReady(t *testing.T) {
	s, err := Listen([]Part{{Name: "mcp", Addr: anyPort, Handler: http.HandlerFunc(ok)}, {Name: "admin", Addr: anyPort, Handler: http.HandlerFunc(ok), Last: true}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	for _, stopping := range []bool{false, true} {
		if stopping {
			s.AnnounceStop()
		}
		for _, part := range []string{"mcp", "admin"} {
			url := "http://" + s.Addr(part)
			for path, want := range map[string]string{"/healthz": `200 {"status":"ok"}`, "/readyz": map[bool]string{false: `200 {"status":"ok"}`, true: `503 {"status":"stopping"}`}[stopping], "/": "200 ok"} {
				res, err := http.Get(url + path)
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if got := strings.TrimSpace(res.Status[:4] + string(body)); got != want || res.Close != stopping {
					t.Errorf("%s%s, stopping %t: %s, closed %t", part, path, stopping, got, res.Close)
				}
			}
		}
	}
}

// TestLastListenerSeesTheOthersDrain: the operator's pages are there while requests
// are still under way, when all other ports are closed.
func TestLastListenerSeesTheOthersDrain(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s, err := Listen([]Part{
		{Name: "web", Addr: anyPort, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(started)
			<-release
			io.WriteString(w, "whole")
		})},
		{Name: "admin", Addr: anyPort, Handler: http.HandlerFunc(ok), Last: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	answer := make(chan string, 1)
	go func() {
		_, body := fetch(t, "http://"+s.Addr("web"))
		answer <- body
	}()
	<-started
	idle, err := net.Dial("tcp", s.Addr("web")) // ends when the listener closes
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	io.WriteString(idle, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	in := bufio.NewReader(idle)
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	io.Copy(io.Discard, in) //nolint:errcheck // only its end counts
	if _, err := net.Dial("tcp", s.Addr("web")); err == nil {
		t.Error("the port is still open")
	}
	if status, body := fetch(t, "http://"+s.Addr("admin")+"/readyz"); status != 503 || !strings.Contains(body, "stopping") {
		t.Errorf("readyz: %d %s", status, body)
	}
	close(release)
	if got := <-answer; got != "whole" {
		t.Errorf("answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.Addr("admin")); err == nil {
		t.Error("the operator's port is still open")
	}
}

// At shutdown a stream sees its context end and finishes by itself, while a
// short request in flight is answered in full.
func TestShutdownDrains(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	s, err := Listen([]Part{{Name: "web", Addr: anyPort, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			sse := NewSSE(w)
			defer sse.Close()
			started <- struct{}{}
			<-r.Context().Done()
			sse.Event("end", "", nil)
			close(release)
			return
		}
		started <- struct{}{}
		<-release
		io.WriteString(w, "whole")
	})}})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	answers := make(chan string, 2)
	for _, path := range []string{"/stream", "/short"} {
		go func() {
			_, body := fetch(t, "http://"+s.Addr("web")+path)
			answers <- body
		}()
		<-started
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	got := <-answers + <-answers
	if !strings.Contains(got, "event: end") || !strings.Contains(got, "whole") {
		t.Errorf("answers %q", got)
	}
	if _, err := net.Dial("tcp", s.Addr("web")); err == nil {
		t.Error("the port is still open")
	}
}

func TestShutdownCutsOff(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	s, err := Listen([]Part{{Name: "web", Addr: anyPort, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(started)
		<-release
	})}})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s.Log = telemetry.NewLogger(&log, "json", slog.LevelInfo)
	s.Drain = 20 * time.Millisecond
	stop := run(t, s)
	failed := make(chan error)
	go func() {
		_, err := http.Get("http://" + s.Addr("web"))
		failed <- err
	}()
	<-started
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("the request was not cut off")
	}
	if !strings.Contains(log.String(), `"part":"web"`) {
		t.Errorf("log: %s", log.String())
	}
}
