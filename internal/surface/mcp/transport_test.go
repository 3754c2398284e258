package mcp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// soon is what anything hostile may take on a busy machine; what has no bound
// takes minutes.
const soon = 20 * time.Second

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// edge sends a request as it is written and returns status and body.
func (s *stack) edge(t *testing.T, at string, change func(*http.Request), body io.Reader) (int, []byte) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, at+"/"+s.agents["clerk"]+"/mcp", body)
	s.must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.keys["user"])
	if change != nil {
		change(r)
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(r)
	s.must(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	s.must(err)
	if took := time.Since(start); took > soon {
		t.Errorf("took %v", took)
	}
	return resp.StatusCode, answer
}

// TestForeignOriginsAndHostsAreRefused: a page of somebody else's cannot use a
// server on this machine, by whatever name it reaches it.
func TestForeignOriginsAndHostsAreRefused(t *testing.T) {
	s := newStack(t)
	local := httptest.NewServer(&httpd.Handler{Next: s.gateway, Loopback: true, Log: slog.New(slog.DiscardHandler)})
	defer local.Close()
	for _, tt := range []struct {
		host   string
		origin []string
		want   int
	}{
		{"", nil, http.StatusOK},
		{"localhost", nil, http.StatusOK},
		{"localhost:8094", []string{"http://localhost:5173"}, http.StatusOK},
		{"[::1]:8094", []string{"http://127.0.0.1"}, http.StatusOK},
		{"", []string{"https://evil.example"}, http.StatusForbidden},
		{"", []string{"null"}, http.StatusForbidden},
		{"", []string{"http://localhost.evil.example"}, http.StatusForbidden},
		{"", []string{"http://localhost:1", "http://localhost:1"}, http.StatusForbidden},
		{"evil.example", nil, http.StatusForbidden},
		{"evil.example:8094", []string{"http://evil.example:8094"}, http.StatusForbidden},
		{"127.0.0.1.evil.example", nil, http.StatusForbidden},
	} {
		status, body := s.edge(t, local.URL, func(r *http.Request) {
			r.Host = tt.host
			if tt.origin != nil {
				r.Header["Origin"] = tt.origin
			}
		}, strings.NewReader(ping))
		if status != tt.want {
			t.Errorf("Host %q, Origin %q: %d %s", tt.host, tt.origin, status, body)
		}
	}
	for origin, want := range map[string]int{"https://any.example": http.StatusOK, "null": http.StatusForbidden} {
		if status, body := s.edge(t, s.server.URL, func(r *http.Request) { r.Header.Set("Origin", origin) }, strings.NewReader(ping)); status != want {
			t.Errorf("public, Origin %s: %d %s", origin, status, body)
		}
	}
}

// TestContentTypesOfFormsAreRefused: what a page can send without being allowed
// to is refused.
func TestContentTypesOfFormsAreRefused(t *testing.T) {
	s := newStack(t)
	for kind, want := range map[string]int{
		"application/json": http.StatusOK, "Application/JSON; charset=utf-8": http.StatusOK,
		"text/plain": 415, "text/plain; application/json": 415, "": 415, "application/x-www-form-urlencoded": 415,
		"multipart/form-data; boundary=x": 415, "application/json-patch+json": 415, "text/json": 415, "application/json, text/plain": 415,
	} {
		status, body := s.edge(t, s.server.URL, func(r *http.Request) { r.Header["Content-Type"] = []string{kind} }, strings.NewReader(ping))
		if status != want || want == 415 && field(body, "error", "data", "code") != `"invalid_body"` {
			t.Errorf("%q: %d %s", kind, status, body)
		}
	}
}

// TestHeadersMustMatchTheBody: a proxy that decides by headers decides about
// what we do, or we do nothing.
func TestHeadersMustMatchTheBody(t *testing.T) {
	s := newStack(t)
	encoded := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	for _, tt := range []struct {
		name   string
		change func(http.Header)
		want   int
	}{
		{"as it should be", func(http.Header) {}, 200},
		{"encoded name", func(h http.Header) { h.Set(wire.HeaderName, encoded("what")) }, 200},
		{"names of headers in any case", func(h http.Header) { h["mCP-nAME"] = h[wire.HeaderName]; delete(h, wire.HeaderName) }, 200},
		{"space around a value", func(h http.Header) { h.Set(wire.HeaderName, "  what ") }, 200},
		{"another method", func(h http.Header) { h.Set(wire.HeaderMethod, "tools/list") }, 400},
		{"method in another case", func(h http.Header) { h.Set(wire.HeaderMethod, "Tools/Call") }, 400},
		{"no method", func(h http.Header) { h.Del(wire.HeaderMethod) }, 400},
		{"two methods", func(h http.Header) { h.Add(wire.HeaderMethod, "tools/call") }, 400},
		{"two methods in a line", func(h http.Header) { h.Set(wire.HeaderMethod, "tools/call, tools/list") }, 400},
		{"another name", func(h http.Header) { h.Set(wire.HeaderName, "stream") }, 400},
		{"no name", func(h http.Header) { h.Del(wire.HeaderName) }, 400},
		{"two names", func(h http.Header) { h.Add(wire.HeaderName, "what") }, 400},
		{"encoded other name", func(h http.Header) { h.Set(wire.HeaderName, encoded("stream")) }, 400},
		{"bad base64", func(h http.Header) { h.Set(wire.HeaderName, "=?base64?d2hhd?=") }, 400},
		{"encoded twice", func(h http.Header) { h.Set(wire.HeaderName, encoded(encoded("what"))) }, 400},
		{"another version", func(h http.Header) { h.Set(wire.HeaderVersion, "v999") }, 400},
		{"no version", func(h http.Header) { h.Del(wire.HeaderVersion) }, 400},
		{"two versions", func(h http.Header) { h.Add(wire.HeaderVersion, "2026-07-28") }, 400},
	} {
		before := len(s.frames())
		r := s.modernRequest(t.Context(), t, s.server.URL, "user", "tools/call", "what", `{}`, `"name":"what"`)
		tt.change(r.Header)
		resp, err := http.DefaultClient.Do(r)
		s.must(err)
		body, err := io.ReadAll(resp.Body)
		s.must(err)
		resp.Body.Close()
		if resp.StatusCode != tt.want || tt.want == 400 && field(body, "error", "code") != "-32020" {
			t.Errorf("%s: %s %s", tt.name, resp.Status, body)
		}
		if called := len(s.frames()) > before; called != (tt.want == 200) {
			t.Errorf("%s: called %v", tt.name, called)
		}
	}
}

// TestAmbiguousBodiesAreRefused: a body that two parsers could read in two ways
// is read in none, and nothing is done.
func TestAmbiguousBodiesAreRefused(t *testing.T) {
	s := newStack(t)
	call := `"method":"tools/call","params":{"name":"what"}`
	for name, body := range map[string]string{
		"duplicate":          `{"jsonrpc":"2.0","id":1,"method":"ping",` + call + `}`,
		"duplicate, escaped": `{"jsonrpc":"2.0","id":1,"\u006dethod":"ping",` + call + `}`,
		"another case":       `{"jsonrpc":"2.0","id":1,"METHOD":"ping",` + call + `}`,
		"duplicate deep":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what","name":"stream"}}`,
		"duplicate argument": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what","arguments":{"a":1,"A":2}}}`,
		"full width":         `{"jsonrpc":"2.0","id":1,"ｍethod":"tools/call","params":{"name":"what"}}`,
		"NUL in a name":      `{"jsonrpc":"2.0","id":1,"method\u0000":"tools/call","params":{"name":"what"}}`,
		"raw NUL":            "{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"\x00\"," + call + "}",
		"lone surrogate":     `{"jsonrpc":"2.0","id":1,"x":"\ud800",` + call + `}`,
		"invalid UTF-8":      "{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"\xff\"," + call + "}",
		"overlong UTF-8":     "{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"\xc0\xaf\"," + call + "}",
		"trailing JSON":      `{"jsonrpc":"2.0","id":1,` + call + `}{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		"trailing comma":     `{"jsonrpc":"2.0","id":1,` + call + `,}`,
		"comment":            `{"jsonrpc":"2.0","id":1,/**/` + call + `}`,
		"batch":              `[{"jsonrpc":"2.0","id":1,` + call + `}]`,
		"byte order mark":    "\ufeff" + `{"jsonrpc":"2.0","id":1,` + call + `}`,
		"UTF-16":             "{\x00\"\x00j\x00",
	} {
		status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(body))
		if code := field(answer, "error", "code"); status != http.StatusBadRequest || code != "-32700" && code != "-32600" {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if n := len(s.frames()); n != 0 {
		t.Errorf("%d calls reached the agent", n)
	}
}

// endless is a body that goes on until somebody stops reading.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil
}

// TestDepthAndSizeAreLimited: what is too deep or too large costs little to
// refuse.
func TestDepthAndSizeAreLimited(t *testing.T) {
	s := newStack(t)
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"what","arguments":{"x":` + nested("[", "", "]", n) + `}}}`
	}
	if status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(deep(97))); status != http.StatusOK {
		t.Errorf("depth 100: %d %s", status, answer)
	}
	for _, n := range []int{98, 9_000, 500_000} {
		if status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(deep(n))); status != http.StatusBadRequest || field(answer, "error", "code") != "-32700" {
			t.Errorf("depth %d: %d %.200s", n, status, answer)
		}
	}
	if status, _ := s.edge(t, s.server.URL, nil, strings.NewReader(strings.Repeat("[", maxBody))); status != http.StatusBadRequest {
		t.Errorf("a million brackets: %d", status)
	}
	for _, more := range []int{0, 1} {
		body := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		body += strings.Repeat(" ", maxBody-len(body)+more)
		status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(body))
		if want := []int{http.StatusOK, http.StatusRequestEntityTooLarge}[more]; status != want {
			t.Errorf("%d bytes: %d %s", len(body), status, answer)
		}
		if more == 1 && (field(answer, "error", "code") != "413" || field(answer, "error", "data", "code") != `"payload_too_large"`) {
			t.Errorf("%s", answer)
		}
	}
	chunked := &endless{}
	if status, answer := s.edge(t, s.server.URL, func(r *http.Request) { r.ContentLength = -1 }, chunked); status != http.StatusRequestEntityTooLarge || chunked.read.Load() > 64<<20 {
		t.Errorf("endless: %d %s after %d bytes", status, answer, chunked.read.Load())
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	io.Copy(z, io.LimitReader(&endless{}, 50<<20)) //nolint:errcheck // into memory
	s.must(z.Close())
	for _, encoding := range []string{"gzip", "deflate", "br", "gzip, identity"} {
		if status, answer := s.edge(t, s.server.URL, func(r *http.Request) { r.Header.Set("Content-Encoding", encoding) }, bytes.NewReader(bomb.Bytes())); status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d %s", encoding, status, answer)
		}
	}
	c, err := net.Dial("tcp", s.server.Listener.Addr().String())
	s.must(err)
	defer c.Close()
	fmt.Fprintf(c, "POST /%s/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: 10000000000\r\n\r\n{", s.agents["clerk"], s.keys["user"])
	s.must(c.SetReadDeadline(time.Now().Add(soon)))
	if head := make([]byte, 16); true {
		if _, err := io.ReadFull(c, head); err != nil || !strings.HasPrefix(string(head), "HTTP/1.1 413") {
			t.Errorf("10 GB announced: %q %v", head, err)
		}
	}
}

// TestOddNumbersDoNoHarm: numbers that no type holds do no harm, and an id
// comes back as it was written.
func TestOddNumbersDoNoHarm(t *testing.T) {
	s := newStack(t)
	digits := strings.Repeat("9", 900_000)
	for _, n := range []string{"1e400", "-1e400", "-0", "0.0", "9223372036854775808", "18446744073709551616", "1e-400", "1.0000000000000000000001", "9007199254740993", digits, "0." + digits, "1e" + digits[:1000]} {
		status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(`{"jsonrpc":"2.0","id":`+n+`,"method":"ping"}`))
		if status != http.StatusOK || field(answer, "id") != n {
			t.Errorf("id %.30s: %d %.200s", n, status, answer)
		}
		for _, params := range []string{
			`{"name":"what","arguments":{"x":` + n + `}}`,
			`{"name":"web_search","arguments":{"query":"x","max_results":` + n + `}}`,
			`{"name":"task_result","arguments":{"task_id":"x","wait_seconds":` + n + `}}`,
			`{"name":"what","_meta":{"progressToken":` + n + `}}`,
		} {
			status, answer := s.edge(t, s.server.URL, nil, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
			if status != http.StatusOK && status != http.StatusBadRequest || field(answer, "id") != "1" {
				t.Errorf("%.60s: %d %.200s", params, status, answer)
			}
		}
	}
}

// TestUnfinishedHeadersAreClosed: connections that never finish their headers
// are closed, and do not keep others from being served.
func TestUnfinishedHeadersAreClosed(t *testing.T) {
	t.Parallel() // it waits for the real timeout
	s := newStack(t)
	server, err := httpd.Listen([]httpd.Part{{Name: "mcp", Addr: "127.0.0.1:0", Handler: s.gateway}})
	s.must(err)
	server.Log = slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Serve(ctx) })
	defer func() { stop(); s.must(group.Wait()) }()
	addr := server.Addr("mcp")
	conns := make([]net.Conn, 400)
	for i := range conns {
		conns[i], err = net.Dial("tcp", addr)
		s.must(err)
		defer conns[i].Close()
		_, err = fmt.Fprintf(conns[i], "POST /x/mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: %d", i)
		s.must(err)
	}
	var took []time.Duration
	for range 50 {
		start := time.Now()
		if status, answer := s.edge(t, "http://"+addr, nil, strings.NewReader(ping)); status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	if p98 := took[48]; p98 > soon/4 { // who waits for the slow ones does so for 10 s
		t.Errorf("p98 of a normal client is %v", p98)
	}
	for _, c := range conns {
		s.must(c.SetReadDeadline(time.Now().Add(15 * time.Second)))
		if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatal("a connection is still open: ", err)
		}
	}
}

// TestSchemaReferencesAreNotFetched: a reference in an agent's schema is
// followed by nobody.
func TestSchemaReferencesAreNotFetched(t *testing.T) {
	s := newStack(t)
	var fetched atomic.Int64
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer canary.Close()
	s.sync(t, func(d *beeos.Definition) {
		for i, ref := range []string{canary.URL + "/a.json", "//" + canary.Listener.Addr().String() + "/b", "file:///etc/hostname", "a.json"} {
			d.Skills = append(d.Skills, beeos.Skill{Name: fmt.Sprintf("ref%d", i), InputSchema: []byte(`{"type":"object","$id":"` + canary.URL + `/","properties":{"x":{"$ref":"` + ref + `"}}}`)})
		}
	})
	for i := range 4 {
		answer := s.callIn(t, s.server.URL, "", fmt.Sprintf("ref%d", i), `{"x":1}`)
		if field(answer, "result", "isError") != "true" || !strings.Contains(string(answer), "inputSchema") {
			t.Errorf("%s", answer)
		}
	}
	if n := fetched.Load(); n != 0 || len(s.frames()) != 0 {
		t.Errorf("%d fetches, %d calls", n, len(s.frames()))
	}
}

func nested(open, leaf, end string, depth int) string {
	return strings.Repeat(open, depth) + leaf + strings.Repeat(end, depth)
}
