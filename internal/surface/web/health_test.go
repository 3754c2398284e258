package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

// TestHealthPage: an owner sees who is connected, what waits, what went wrong
// last and what was logged; others see nothing.
func TestHealthPage(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(ann, 1)[0]
	path, me := "/agents/"+a.ID+"/health", k.signedIn(ann)
	if body := me.get(path).body; !strings.Contains(body, "No process of it is connected") || !strings.Contains(body, "No call went wrong") {
		t.Errorf("before it connects: %s", body)
	}
	if res := k.signedIn(bob).get(path); res.status != http.StatusNotFound {
		t.Errorf("somebody else's: %d", res.status)
	}
	p := k.puppet(a)
	k.bus.ServeHealth(func(id string) (bus.Health, bool) {
		return bus.Health{Opened: 3, Connections: []bus.Connection{{Instance: a.InstanceID, Address: "192.0.2.7", Program: "beeos-agent/1"}}, Lines: []bus.LogLine{{Turn: "turn", Level: "error", Text: "disk <full>\u202e"}}}, id == a.ID
	})
	me.begins(a, "hello")
	p.reply(p.turn(), beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, Body: "the drawer is locked"})
	body := me.get(path).body
	for _, want := range []string{"192.0.2.7", "beeos-agent/1", "3 times", "the drawer is locked", "disk &lt;full&gt;", "202E⟩", `<span class="dot bad">failed</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s: %s", want, body)
		}
	}
}
