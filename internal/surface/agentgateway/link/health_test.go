package link

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestHealthBookIsBounded: neither an agent that logs without end nor agents
// without end take more than their room, and what was written last is there.
func TestHealthBookIsBounded(t *testing.T) {
	var b healthBook
	for i := range 3 * maxLines {
		b.addLine("chatty", newLine(time.Now(), &beeos.Frame{Data: fmt.Appendf(nil, "%q", strings.Repeat("x", 9*maxLine)+fmt.Sprint(i)), Level: strings.Repeat("l", 99)}))
	}
	r, _ := b.find("chatty")
	if len(r.lines) != maxLines || len(r.lines[0].Text) > maxLine+len("…") || len(r.lines[0].Level) > 20+len("…") {
		t.Errorf("%d lines, of %d bytes, level %q", len(r.lines), len(r.lines[0].Text), r.lines[0].Level)
	}
	for i := range 3 * maxKnown {
		b.addOpened([]*beeos.Agent{{ID: fmt.Sprint("agent_", i)}})
		if i%100 == 0 {
			b.addLine("busy", bus.LogLine{Text: fmt.Sprint(i)})
		}
	}
	if n := len(b.young) + len(b.old); n > 2*maxKnown {
		t.Errorf("%d agents are known", n)
	}
	if r, ok := b.find("busy"); !ok || r.lines[len(r.lines)-1].Text != fmt.Sprint(3*maxKnown-100) {
		t.Errorf("what was written to all the time: %+v", r)
	}
	if _, ok := b.find("agent_0"); ok {
		t.Error("what was written to long ago is kept")
	}
	for i := range 3 * maxLineBytes / maxLine {
		b.addLine(fmt.Sprint("other_", i), bus.LogLine{Text: strings.Repeat("x", maxLine)})
	}
	kept := 0
	for _, records := range []map[string]*healthRecord{b.young, b.old} {
		for _, r := range records {
			for _, l := range r.lines {
				kept += len(l.Text)
			}
		}
	}
	if most := 2 * (maxLineBytes + maxLines*(maxLine+len("…"))); kept > most {
		t.Errorf("%d bytes of lines are kept, more than %d", kept, most)
	}
}
