package skill_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/internal/wire/outbound"
)

// bomber is a skill server that answers one method with 1 GiB in a megabyte of
// gzip, and all others as it should.
func bomber(t *testing.T, method, kind, begin, pattern string, status int) *httptest.Server {
	t.Helper()
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bomb","version":"1"}}`,
		"tools/list": `{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		switch {
		case req.Method == method:
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			explode(w, begin, pattern)
		case len(req.ID) == 0:
			w.WriteHeader(http.StatusAccepted)
		case results[req.Method] == "":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, req.ID)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, results[req.Method])
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func explode(w http.ResponseWriter, begin, pattern string) {
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	defer z.Close()
	_, err := z.Write([]byte(begin))
	chunk := bytes.Repeat([]byte(pattern), 1<<20/len(pattern))
	for i := 0; i < 1<<10 && err == nil; i++ {
		_, err = z.Write(chunk)
	}
}

// TestBombsOfSkillServersStop at the limit of a message: as JSON, as events and
// as errors, whatever the client library would have read.
func TestBombsOfSkillServersStop(t *testing.T) {
	for name, form := range map[string]struct {
		kind, begin, pattern string
		status               int
	}{
		"JSON":            {"application/json", `{"jsonrpc":"2.0","id":1,"result":{"x":"`, "x", 200},
		"one event":       {"text/event-stream", "data: ", "x", 200},
		"event of lines":  {"text/event-stream", "", "data: x\n", 200},
		"stream":          {"text/event-stream", "", ": nothing to say, nothing to say, nothing to say, nothing to\n\n", 200},
		"error":           {"application/json", `{"error":"`, "x", 400},
		"error of events": {"text/event-stream", "", "data: x\n\n", 422},
	} {
		for _, method := range []string{"initialize", "tools/list", "tools/call"} {
			t.Run(name+" "+method, func(t *testing.T) {
				s := bomber(t, method, form.kind, form.begin, form.pattern, form.status)
				c := skill.New(skill.Options{Server: skill.Server{Name: "bomb", URL: s.URL}, HTTP: outbound.Transport(outbound.Options{AllowPrivate: true})})
				t.Cleanup(func() { _ = c.Close() }) // its session may be over
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := c.Tools(t.Context(), true)
				if method == "tools/call" {
					if err != nil {
						t.Fatal(err)
					}
					_, err = c.Call(t.Context(), "pay", nil)
				}
				runtime.ReadMemStats(&after)
				if err == nil || !strings.Contains(err.Error(), "too long") {
					t.Errorf("%v", err)
				}
				if method == "tools/call" && form.status == 200 && !errors.Is(err, skill.ErrUncertain) {
					t.Errorf("it may have run: %v", err)
				}
				if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 300 {
					t.Errorf("%d MiB were made", n)
				}
			})
		}
	}
}

// TestRefusedAddressSaysWhatToDo: the owner of a skill learns why its server
// is not connected to.
func TestRefusedAddressSaysWhatToDo(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:1/mcp":       "BEEOS_ALLOW_PRIVATE=true",
		"http://[fd00:ec2::254]/mcp":   "no setting opens it",
		"http://169.254.169.254/mcp":   "no setting opens it",
		"http://[64:ff9b::a00:1]/mcp":  "no setting opens it",
		"http://[2002:a9fe:a9fe::]/mc": "no setting opens it",
	} {
		c := skill.New(skill.Options{Server: skill.Server{Name: "inside", URL: url}, HTTP: outbound.Transport(outbound.Options{})})
		if _, err := c.Tools(t.Context(), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
