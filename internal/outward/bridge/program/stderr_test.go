package program

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
)

func TestPlainText(t *testing.T) {
	for line, want := range map[string]string{
		"\x1b[1;31merror\x1b[0m: no":           "error: no",
		"\x1b]0;title\x07text\x1b]8;;u\x1b\\x": "textx",
		"10 %\r50 %\r100 %\r":                  "100 %",
		"plain [31m text\r":                    "plain [31m text",
		"\x1b[K":                               "",
		"a\xffb":                               "a�b",
		"\tindented":                           "\tindented",
	} {
		if got := plainText(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestStderrLines: lines go to the answer that was begun last, without secrets, and no more of them than are good for a page.
func TestStderrLines(t *testing.T) {
	var newest *agent.Reply
	now := time.Now()
	s := newStderrLines(func() *agent.Reply { return newest }, FindSecrets(&settings.Bridge{
		Agent: agent.Options{Key: "oag_owner"}, Header: http.Header{"Authorization": {"Bearer header-word"}},
		Env: []string{"HOME=/home/ann", "BEEOS_KEY=bak_hush", "DB_PASSWORD=geheim", "EMPTY_TOKEN=", "API_TOKEN=x=y=zzz"},
	}))
	s.now = func() time.Time { return now }
	s.add("nobody asked anything")
	first, second := &agent.Reply{}, &agent.Reply{}
	newest = second
	s.add("for the second: oag_owner bak_hush geheim x=y=zzz header-word /home/ann")
	newest = first
	s.add("for the first: " + strings.Repeat("x", 2*maxStderrLine))
	if got := <-s.queue; got.to != second || got.text != "for the second: [hidden] [hidden] [hidden] [hidden] [hidden] /home/ann" {
		t.Errorf("%q", got.text)
	}
	if got := <-s.queue; got.to != first || len(got.text) > maxStderrLine+len("…") {
		t.Errorf("%d bytes", len(got.text))
	}
	for i := range 5 * linesPerSecond {
		s.add(fmt.Sprint("line ", i))
	}
	if n := len(s.queue); n != linesPerSecond-2 {
		t.Errorf("%d lines of a second", n)
	}
	now = now.Add(time.Second)
	for len(s.queue) > 0 {
		<-s.queue
	}
	s.add("later")
	if got := <-s.queue; got.text != fmt.Sprintf("(%d lines are only in the log of the bridge) later", 4*linesPerSecond+2) {
		t.Errorf("%q", got.text)
	}
	s.close()
}
