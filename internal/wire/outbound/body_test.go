package outbound

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

const events = "text/event-stream"

func ask(t *testing.T, c *http.Client, url, accept string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// bomb answers with 1 GiB in 1 MiB of gzip.
func bomb(kind string, status int, pattern string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		chunk := bytes.Repeat([]byte(pattern), 1<<20/len(pattern))
		for range 1 << 10 {
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
		z.Close()
	}
}

func TestBombsStopAtTheLimit(t *testing.T) {
	const limit = 1 << 20
	client := Client(Options{AllowPrivate: true, MaxBody: limit})
	for name, tt := range map[string]struct {
		kind, pattern string
		status        int
		accept        string
	}{
		"JSON":                  {"application/json", " ", 200, events},
		"an error":              {"application/json", " ", 500, events},
		"no type":               {"", "x", 200, events},
		"one event":             {"text/event-stream", "x", 200, events},
		"an event of lines":     {"text/event-stream; charset=utf-8", "data: x\n", 200, events},
		"an event, CRLF":        {"text/event-stream", "data: xx\r\n", 200, events},
		"a stream of events":    {"text/event-stream", "data: x\n\n", 200, events},
		"a stream of comments":  {"text/event-stream", ":\r\n\r\n", 200, events},
		"an error of events":    {events, "data: x\n\n", 404, events},
		"unasked for events":    {events, "data: x\n\n", 200, "application/json"},
		"a stream of empty CRs": {"text/event-stream", "\r", 200, events},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, bomb(tt.kind, tt.status, tt.pattern))
			resp := ask(t, client, s.URL, tt.accept)
			defer resp.Body.Close()
			n, err := io.Copy(io.Discard, resp.Body)
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(limit)) {
				t.Errorf("%v", err)
			}
			if n > limit || n < limit-64<<10 {
				t.Errorf("%d bytes were read", n)
			}
			if n, err := io.Copy(io.Discard, resp.Body); n > 0 || !errors.Is(err, ErrTooLarge) {
				t.Errorf("then %d bytes and %v", n, err)
			}
		})
	}
}

// TestAnswersUpToTheLimitAreRead, to the last byte.
func TestAnswersUpToTheLimitAreRead(t *testing.T) {
	for _, size := range []int{0, 999, 1000, 1001} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.Repeat("x", size)) })
		got, err := get(t, Client(Options{AllowPrivate: true, MaxBody: 1000}), s.URL)
		if fine := size <= 1000; fine != (err == nil) || fine && got != "200 OK "+strings.Repeat("x", size) {
			t.Errorf("%d: %v, %d bytes", size, err, len(got))
		}
	}
}

// TestEventsAreBoundedOneByOne, wherever reads fall between their bytes.
func TestEventsAreBoundedOneByOne(t *testing.T) {
	fits, over := strings.Repeat("x", 90), strings.Repeat("x", 101)
	for text, fine := range map[string]bool{
		strings.Repeat("data: "+fits+"\n\n", 10):             true,
		strings.Repeat("data: "+fits+"\r\n\r\n", 10):         true,
		strings.Repeat("data: "+fits+"\r\r", 10):             true,
		strings.Repeat(":\n", 40) + "\n" + "data: " + fits:   true,
		"data: " + fits + "\n\ndata: " + over + "\n\n":       false,
		"data: " + fits + "\ndata: " + fits + "\n\n":         false,
		"data: " + fits + "\r\ndata: " + fits + "\r\n\r\n":   false,
		"data: " + fits + "\n \ndata: " + fits + "\r\n\r\n":  false,
		strings.Repeat("data: "+fits+"\n\n", 17) + "data: x": false, // the stream as a whole
	} {
		for name, read := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, text)
			})
			resp := ask(t, Client(Options{AllowPrivate: true, MaxBody: 100}), s.URL, events)
			got, err := io.ReadAll(read(resp.Body))
			resp.Body.Close()
			if fine != (err == nil) || fine && string(got) != text || !strings.HasPrefix(text, string(got)) {
				t.Errorf("%s %.30q: %v, %d of %d bytes", name, text, err, len(got), len(text))
			}
		}
	}
}

// TestClientOverBoundsAnyTransport, also one that has no bounds.
func TestClientOverBoundsAnyTransport(t *testing.T) {
	s := serve(t, bomb("application/json", 200, " "))
	if _, err := get(t, ClientOver(http.DefaultTransport, Options{MaxBody: 1000}), s.URL); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
}
