package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
)

// discard is a ResponseWriter that costs nothing.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func (d *discard) WriteHeader(status int) { d.status = status }

var contentJSON = []string{"application/json"}

// BenchmarkEdge is what this package adds to a request, without net/http:
// with a list, all of it; with a call that is refused for its arguments,
// everything before invoke.
func BenchmarkEdge(b *testing.B) {
	s := newStack(b)
	for name, body := range map[string]string{
		"list":      `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		"arguments": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"BeeOS AI agent platform","max_results":3,"idempotency_key":5}}}`,
		"schema":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"BeeOS AI agent platform","max_results":true}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/"+s.agents["clerk"]+"/mcp", strings.NewReader(body))
				r.Header["Content-Type"] = contentJSON
				r.Header["Authorization"] = []string{"Bearer " + s.keys["user"]}
				w := &discard{header: http.Header{}}
				s.gateway.ServeHTTP(w, r)
				if w.status != http.StatusOK && w.status != http.StatusBadRequest {
					b.Fatal(w.status)
				}
			}
		})
	}
}

func BenchmarkResult(b *testing.B) {
	m := &beeos.Message{Type: beeos.AgentReply, Body: strings.Repeat("some words ", 20)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := replies.ToolResult(m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is a whole call over HTTP with the real stack under it.
func BenchmarkCall(b *testing.B) {
	s := newStack(b)
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"BeeOS"}}}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/"+s.agents["clerk"]+"/mcp", strings.NewReader(body))
		r.Header["Content-Type"] = contentJSON
		r.Header["Authorization"] = []string{"Bearer " + s.keys["user"]}
		w := &discard{header: http.Header{}}
		s.gateway.ServeHTTP(w, r)
		if w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}
