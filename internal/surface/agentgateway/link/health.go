package link

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

const (
	maxLines     = 100     // of one agent's log
	maxLine      = 512     // bytes
	maxKnown     = 5_000   // agents of one generation
	maxLineBytes = 2 << 20 // of one generation
	maxProgram   = 100     // bytes of what a program calls itself
)

// healthBook is what people may want to know of the agents that were connected to
// this node. It is kept in memory alone and bounded: when it is full, what nobody
// wrote to since it was full the last time is forgotten.
type healthBook struct {
	since time.Time

	mu         sync.Mutex
	young, old map[string]*healthRecord
	bytes      int // of the lines of the young
}

type healthRecord struct {
	opened int
	lines  []bus.LogLine // in order
}

// record returns the record of an agent to write to; b.mu is held.
func (b *healthBook) record(agentID string) *healthRecord {
	if r := b.young[agentID]; r != nil {
		return r
	}
	r := b.old[agentID]
	if r == nil {
		r = &healthRecord{}
	}
	delete(b.old, agentID)
	if b.young == nil || len(b.young) >= maxKnown || b.bytes >= maxLineBytes {
		b.young, b.old, b.bytes = map[string]*healthRecord{}, b.young, 0
	}
	b.young[agentID] = r
	for i := range r.lines {
		b.bytes += len(r.lines[i].Text)
	}
	return r
}

// addOpened counts a connection.
func (b *healthBook) addOpened(agents []*beeos.Agent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range agents {
		b.record(a.ID).opened++
	}
}

// addLine keeps what an agent logged.
func (b *healthBook) addLine(agentID string, l bus.LogLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(agentID)
	if b.bytes += len(l.Text); len(r.lines) >= maxLines {
		b.bytes -= len(r.lines[0].Text)
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, l)
}

// find returns a copy of what is known of an agent.
func (b *healthBook) find(agentID string) (r healthRecord, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.young[agentID]
	if known == nil {
		known = b.old[agentID]
	}
	if known == nil {
		return r, false
	}
	return healthRecord{known.opened, slices.Clone(known.lines)}, true
}

// newLine is a log frame as it is kept.
func newLine(now time.Time, f *beeos.Frame) bus.LogLine {
	var text string
	if json.Unmarshal(f.Data, &text) != nil {
		var b bytes.Buffer
		if json.Compact(&b, f.Data) == nil {
			text = b.String()
		}
	}
	return bus.LogLine{At: now, Turn: f.MessageID, Level: cut(f.Level, 20), Logger: cut(f.Logger, 60), Text: cut(text, maxLine)}
}

// cut returns the beginning of a text, in memory of its own: what it is part of
// may be a megabyte.
func cut(s string, most int) string {
	return strings.Clone(beeos.Shorten(s[:min(len(s), 4*most)], most))
}

// Peer is who opened a connection, as far as it says so.
type Peer struct{ Address, Program string }

// health is what this node knows of an agent.
func (h *Hub) health(agentID string) (bus.Health, bool) {
	r, known := h.book.find(agentID)
	found := bus.Health{Since: h.book.since, Opened: r.opened, Lines: r.lines}
	for _, c := range h.registry.find("", agentID) {
		found.Connections = append(found.Connections, bus.Connection{
			Instance: c.Instance, Address: c.peer.Address, Program: c.peer.Program, Since: c.since, Working: int(c.load.Load()),
		})
	}
	return found, known || len(found.Connections) > 0
}
