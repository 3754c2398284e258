package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		now := time.Now()
		found := act.Health{Waiting: n, Oldest: now, Instances: map[string]beeos.Instance{"inst": {ID: "inst", Name: "host <b>", LastSeen: now}}}
		found.Nodes = []bus.Health{{
			Node: "a", Since: now, Opened: n,
			Connections: pagetest.Repeat(n, func(i int) bus.Connection {
				return bus.Connection{Instance: "inst", Address: "127.0.0.1", Program: "beeos-agent/1", Since: now, Working: i}
			}),
			Lines: pagetest.Repeat(n, func(i int) bus.LogLine {
				return bus.LogLine{At: now.Add(time.Duration(i)), Turn: fmt.Sprint("turn", i), Level: []string{"info", "warning", "error"}[i%3], Text: "<i>\u202e"}
			}),
		}}
		if n > 0 {
			found.LastError = &calls.Call{Turn: "turn", Outcome: calls.Lost, Began: now}
		}
		row := page.AgentRow{ID: "agent_0", Title: "A", Builtin: n == 1}
		return map[string]any{"health": newData(row, &beeos.Agent{ID: "agent_0", InstanceID: "inst"}, &found)}
	}, map[string]string{"health": "data-line"})
}

// TestLinesAreInOrder: lines of all servers, the newest first, and no more than
// the page has room for.
func TestLinesAreInOrder(t *testing.T) {
	now := time.Now()
	nodes := make([]bus.Health, 3)
	for i := range 300 {
		nodes[i%3].Lines = append(nodes[i%3].Lines, bus.LogLine{At: now.Add(time.Duration(i) * time.Second), Text: fmt.Sprint(i)})
	}
	lines := linesOf(nodes)
	if len(lines) != maxShown || lines[0].Text[0].Text != "299" || lines[199].Text[0].Text != "100" {
		t.Errorf("%d lines, from %v to %v", len(lines), lines[0].Text, lines[len(lines)-1].Text)
	}
}
