package httpd

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beeos/beeos"
)

// pipes is a listener for connections without a network, whose deadlines follow
// the clock of a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// servePipe runs test with a connection to next behind a Handler.
func servePipe(t *testing.T, next http.HandlerFunc, test func(t *testing.T, conn net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := make(pipes)
		server := &http.Server{Handler: &Handler{Next: next, Log: slog.New(slog.DiscardHandler)}}
		go server.Serve(listener)
		client, conn := net.Pipe()
		listener <- conn
		test(t, client)
		client.Close()
		close(listener)
		server.Close()
	})
}

const halfBody = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"

// TestHalfBodyHoldsNoConnection: whoever sends a part of a body gets an answer,
// whether anybody reads the body or not, and is off the connection within 30 s.
func TestHalfBodyHoldsNoConnection(t *testing.T) {
	refuse := func(w http.ResponseWriter, r *http.Request, message string) {
		WriteError(w, r, beeos.Errorf(beeos.MissingToken, "%s", message))
	}
	for name, next := range map[string]http.HandlerFunc{
		"refused":           func(w http.ResponseWriter, r *http.Request) { refuse(w, r, "no credential") },
		"refused at length": func(w http.ResponseWriter, r *http.Request) { refuse(w, r, strings.Repeat("no ", 2000)) },
		"nothing said":      func(http.ResponseWriter, *http.Request) {},
		"read": func(w http.ResponseWriter, r *http.Request) {
			if _, err := ReadJSON(w, r, 1<<20); err != nil {
				WriteError(w, r, err)
			}
		},
		"read as a form": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if err := r.ParseForm(); err != nil {
				WriteError(w, r, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			servePipe(t, next, func(t *testing.T, conn net.Conn) {
				start := time.Now()
				go io.WriteString(conn, halfBody)
				answer, err := io.ReadAll(conn)
				if took := time.Since(start); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 ") || took > 30*time.Second {
					t.Errorf("%.40q, %v, after %s", answer, err, took)
				}
			})
		})
	}
}

// TestDeadlineOfBodyEndsWithIt: a request that was read, or whose stream has
// begun, may take as long as it likes.
func TestDeadlineOfBodyEndsWithIt(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter, *http.Request){
		"body read":               func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) },
		"stream over unread body": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			servePipe(t, func(w http.ResponseWriter, r *http.Request) {
				begin(w, r)
				select {
				case <-r.Context().Done():
					t.Error("cut off:", r.Context().Err())
				case <-time.After(time.Hour):
				}
				io.WriteString(w, "done")
			}, func(t *testing.T, conn net.Conn) {
				go io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "done" {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

// TestAllowBody: an upload gets the time that its route gives it.
func TestAllowBody(t *testing.T) {
	servePipe(t, func(w http.ResponseWriter, r *http.Request) {
		AllowBody(w, time.Hour)
		got, err := io.ReadAll(r.Body)
		if err != nil || len(got) != 1000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}, func(t *testing.T, conn net.Conn) {
		go func() {
			io.WriteString(conn, halfBody)
			<-time.After(10 * bodyTime)
			io.WriteString(conn, strings.Repeat("x", 999))
		}()
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Error(err)
		}
	})
}
