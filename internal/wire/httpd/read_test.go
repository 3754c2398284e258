package httpd

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/beeos/beeos"
)

func TestReadJSONTakesSmallStrictJSONAlone(t *testing.T) {
	const limit = 64
	long := `"` + strings.Repeat("a", limit-2) + `"`
	tests := []struct {
		name     string
		types    string
		encoding string
		body     io.Reader
		code     beeos.Code // "" = accepted
		media    bool
	}{
		{"plain", "application/json", "", strings.NewReader(`{"a":1}`), "", false},
		{"charset", "application/json; charset=utf-8", "", strings.NewReader(`{}`), "", false},
		{"capitals", "Application/JSON;x=y", "", strings.NewReader(`{}`), "", false},
		{"identity", "application/json", "identity", strings.NewReader(`{}`), "", false},
		{"as long as allowed", "application/json", "", strings.NewReader(long), "", false},
		{"as long as allowed, chunked", "application/json", "", io.MultiReader(strings.NewReader(long)), "", false},
		{"no type", "", "", strings.NewReader(`{}`), beeos.InvalidBody, true},
		{"text", "text/plain", "", strings.NewReader(`{}`), beeos.InvalidBody, true},
		{"form", "application/x-www-form-urlencoded", "", strings.NewReader(`a=b`), beeos.InvalidBody, true},
		{"begins well", "application/jsonp", "", strings.NewReader(`{}`), beeos.InvalidBody, true},
		{"compressed", "application/json", "gzip", strings.NewReader("\x1f\x8b"), beeos.InvalidBody, true},
		{"empty", "application/json", "", strings.NewReader(""), beeos.InvalidJSON, false},
		{"no body", "application/json", "", nil, beeos.InvalidJSON, false},
		{"not JSON", "application/json", "", strings.NewReader("{"), beeos.InvalidJSON, false},
		{"duplicate", "application/json", "", strings.NewReader(`{"a":1,"A":1}`), beeos.InvalidJSON, false},
		{"too long", "application/json", "", strings.NewReader(long + " "), beeos.PayloadTooLarge, false},
		{"too long, chunked", "application/json", "", io.MultiReader(strings.NewReader(long + " ")), beeos.PayloadTooLarge, false},
		{"breaks off", "application/json", "", iotest.ErrReader(io.ErrUnexpectedEOF), beeos.InvalidBody, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", tt.body)
			if tt.types != "" {
				r.Header.Set("Content-Type", tt.types)
			}
			r.Header.Set("Content-Encoding", tt.encoding)
			body, err := ReadJSON(httptest.NewRecorder(), r, limit)
			if tt.code == "" {
				if err != nil || len(body) == 0 {
					t.Fatalf("%q, %v", body, err)
				}
				return
			}
			if err == nil || beeos.CodeOf(err) != tt.code || errors.Is(err, ErrMediaType) != tt.media {
				t.Errorf("err %v, want %s", err, tt.code)
			}
			if tt.media && StatusOf(err) != http.StatusUnsupportedMediaType {
				t.Errorf("status %d", StatusOf(err))
			}
		})
	}
}

// The body of one request must survive the next one.
func TestReadJSONIsSafeToKeep(t *testing.T) {
	read := func(text string) []byte {
		r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader(text)))
		r.Header.Set("Content-Type", "application/json")
		body, err := ReadJSON(httptest.NewRecorder(), r, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	first := read(`"first"`)
	read(`"other"`)
	if string(first) != `"first"` {
		t.Errorf("kept body became %s", first)
	}
}

// endless counts how much of an endless body was taken.
type endless struct{ taken int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	e.taken += len(b)
	return len(b), nil
}

func TestReadJSONLeavesTheRest(t *testing.T) {
	for name, length := range map[string]int64{"announced": 10 << 30, "chunked": -1} {
		t.Run(name, func(t *testing.T) {
			body := &endless{}
			r := httptest.NewRequest("POST", "/", body)
			r.ContentLength = length
			r.Header.Set("Content-Type", "application/json")
			if _, err := ReadJSON(httptest.NewRecorder(), r, 1<<20); beeos.CodeOf(err) != beeos.PayloadTooLarge {
				t.Fatal(err)
			}
			if body.taken > 3<<20 {
				t.Errorf("read %d bytes", body.taken)
			}
		})
	}
}

// Over a real connection, a short body is an error and the next request on
// the connection is not disturbed by the deadline of the one before.
func TestShortBodyDoesNotDisturbTheNextRequest(t *testing.T) {
	srv := httptest.NewServer(&Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadJSON(w, r, 1<<20)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		w.Write(body)
	})})
	defer srv.Close()

	for _, size := range []int{10, 100_000} {
		for range 3 {
			want := `"` + strings.Repeat("x", size) + `"`
			res, err := http.Post(srv.URL, "application/json", strings.NewReader(want))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if string(got) != want {
				t.Errorf("got %d bytes, want %d", len(got), len(want))
			}
		}
	}

	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{}")
	conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "invalid_body") {
		t.Errorf("answer %q", answer)
	}
}

func BenchmarkReadJSON(b *testing.B) {
	r := httptest.NewRequest("POST", "/", nil)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(request))
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		r.Body = io.NopCloser(strings.NewReader(request))
		if _, err := ReadJSON(w, r, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

const request = `{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Berlin","days":3,"units":"metric"},"_meta":{"progressToken":"abc"}}}`

// TestArrivingBodiesShareRoom: what is on its way is bounded, for each person and
// in total; a short body still gets in, and room comes back with every end.
func TestArrivingBodiesShareRoom(t *testing.T) {
	const size, count = 4 << 20, arrivingMost / (4 << 20)
	var hold sync.WaitGroup
	full, release := make(chan struct{}, count), make(chan struct{})
	read := func(sender string, body io.Reader) error {
		r := httptest.NewRequest("POST", "/", body)
		r.ContentLength = -1
		w, r := begin(httptest.NewRecorder(), r)
		SetSender(r, sender)
		_, err := ReadBody(w, r, 2*size)
		return err
	}
	fill := func(sender string) {
		hold.Go(func() {
			stuck := readerFunc(func([]byte) (int, error) { full <- struct{}{}; <-release; return 0, io.EOF })
			if err := read(sender, io.MultiReader(strings.NewReader(strings.Repeat("x", size)), stuck)); err != nil {
				t.Error(err)
			}
		})
		<-full
	}
	long := func() io.Reader { return strings.NewReader(strings.Repeat("x", size)) }
	for range count / 2 {
		fill("bob")
	}
	if err := read("bob", long()); beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
		t.Errorf("bob's share has no end: %v", err)
	}
	if err := read("ann", long()); err != nil {
		t.Errorf("bob is in ann's way: %v", err)
	}
	for range count / 2 {
		fill("ann")
	}
	if err := read("eve", long()); beeos.CodeOf(err) != beeos.AgentServiceUnavailable {
		t.Errorf("one more: %v", err)
	}
	if err := read("eve", strings.NewReader(strings.Repeat("x", arrivingFree))); err != nil {
		t.Errorf("a short one: %v", err)
	}
	close(release)
	hold.Wait()
	if err := read("bob", long()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if arriving.total != 0 || len(arriving.by) != 0 {
		t.Errorf("%d bytes are still held: %v", arriving.total, arriving.by)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
