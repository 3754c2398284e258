package mcp

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

var update = flag.Bool("update", false, "rewrite the responses of the transcripts")

// TestTranscripts plays testdata/*.txtar: each request against the real
// stack, each response compared with what was written down. In requests
// ${agent:name}, ${key:name}, ${meta} (the least that a stateless request must
// say) and ${session} are filled in, the last with the session that the gateway
// gave latest; in responses they stand for the same.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	s := newStack(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, s, file) })
	}
}

func play(t *testing.T, s *stack, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	session := ""
	var out txtar.Archive
	out.Comment = archive.Comment
	for i, f := range archive.Files {
		if f.Name != "request" {
			continue
		}
		status, body := exchangeText(t, s, s.fill(string(f.Data), session), &session)
		got := s.hide(status+"\n"+body, session)
		out.Files = append(out.Files, f, txtar.File{Name: "response", Data: []byte(got + "\n")})
		if *update {
			continue
		}
		want := ""
		if i+1 < len(archive.Files) && archive.Files[i+1].Name == "response" {
			want = string(archive.Files[i+1].Data)
		}
		if diff := cmp.Diff(want, got+"\n"); diff != "" {
			t.Errorf("answer to\n%s\n(-want +got)\n%s", f.Data, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(&out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exchangeText sends one written-down request and writes its response down.
func exchangeText(t *testing.T, s *stack, request string, session *string) (head, body string) {
	t.Helper()
	top, content, _ := strings.Cut(request, "\n\n")
	lines := bufio.NewScanner(strings.NewReader(top))
	lines.Scan()
	method, path, _ := strings.Cut(lines.Text(), " ")
	r, err := http.NewRequest(method, s.server.URL+path, strings.NewReader(strings.TrimSuffix(content, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		r.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		*session = id
	}
	var b strings.Builder
	b.WriteString(resp.Status + "\n")
	for _, name := range []string{
		"Content-Type", "Allow", "Www-Authenticate", "Mcp-Session-Id", "Retry-After", "X-Accel-Buffering",
		"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers", "Access-Control-Expose-Headers",
	} {
		if v := resp.Header.Get(name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	return b.String(), string(bytes.TrimSpace(data))
}

func (s *stack) fill(text, session string) string {
	for name, id := range s.agents {
		text = strings.ReplaceAll(text, "${agent:"+name+"}", id)
	}
	for name, secret := range s.keys {
		text = strings.ReplaceAll(text, "${key:"+name+"}", secret)
	}
	text = strings.ReplaceAll(text, "${meta}", `"_meta":{"`+wire.MetaVersion+`":"2026-07-28","`+wire.MetaCapabilities+`":{}}`)
	return strings.ReplaceAll(text, "${session}", session)
}

var volatile = regexp.MustCompile(`("retry_after_ms":|try again in |ask_id":")[0-9a-z.-]+`)

// hide is the reverse of fill, and blots out what differs from run to run.
func (s *stack) hide(text, session string) string {
	for name, id := range s.agents {
		text = strings.ReplaceAll(text, id, "${agent:"+name+"}")
	}
	if session != "" {
		text = strings.ReplaceAll(text, session, "${session}")
	}
	return volatile.ReplaceAllString(text, "${1}N")
}
