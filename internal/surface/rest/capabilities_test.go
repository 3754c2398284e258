package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestCapabilitiesTellTheTruth: what this server does for every agent is there,
// what it has for none is not, whatever the agent declares.
func TestCapabilitiesTellTheTruth(t *testing.T) {
	s := start(t)
	id := s.sync(beeos.Definition{
		Name:         "boaster",
		Capabilities: json.RawMessage(`{"terminal":true,"streaming":false,"audio":true,"modelsSet":true,"inputModes":["text/plain","image/png"],"own":1}`),
	})["boaster"]
	got := ok[struct{ Capabilities map[string]any }](s, "GET", "/api/v1/agents/"+id, "").Capabilities
	for _, name := range strings.Fields(`multipleConversations loadConversation createConversation streaming pushNotifications a2a extendedAgentCard skillsList mcp image audio modelsSet`) {
		if got[name] != true {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	for _, name := range strings.Fields(`canvas terminal webSsh fileSystem cron skillsInstall skillsUninstall skillsUpdate modelsList`) {
		if got[name] != false {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if got["own"] != 1.0 {
		t.Errorf("of its own: %v", got["own"])
	}
}

// TestInstanceStatusInTheContractsWords: pending, provisioning, running, stopped.
func TestInstanceStatusInTheContractsWords(t *testing.T) {
	s := start(t)
	path := "/api/v1/instances/" + s.deploy(`{"name":"x","systemPrompt":"one"}`).ID
	type view struct {
		Status, Connectivity, HaltReason string
		Desired                          string `json:"desiredStatus"`
	}
	check := func(when string, got view, status, desired string) {
		t.Helper()
		if got.Status != status || got.Desired != desired || (got.HaltReason != "") != (desired == "stopped") {
			t.Errorf("%s: %+v", when, got)
		}
	}
	if got := ok[view](s, "GET", path, ""); got.Status != "provisioning" && got.Status != "running" {
		t.Errorf("deployed: %+v", got)
	}
	check("stopped", ok[view](s, "POST", path+"/stop", ""), "stopped", "stopped")
	if got := ok[view](s, "POST", path+"/restart", ""); got.Desired != "running" || got.Status == "stopped" || got.HaltReason != "" {
		t.Errorf("restarted: %+v", got)
	}
}
