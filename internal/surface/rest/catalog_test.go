package rest_test

import (
	"strings"
	"testing"
)

// TestCatalogSaysWhatThisServerHas to clients that choose among clouds.
func TestCatalogSaysWhatThisServerHas(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{
		"/api/v1/deploy/models":                           `"data":[`,
		"/api/v1/deploy/regions":                          `"id":"local"`,
		"/api/v1/providers":                               `"device":false`,
		"/api/v1/instances/" + s.instance + "/operations": `"operations":[]`,
	} {
		if a := s.do("GET", path, s.key, ""); a.status != 200 || !strings.Contains(a.raw, want) {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	if a := s.do("GET", "/api/v1/instances/"+s.instance+"/operations", s.other, ""); a.status != 404 {
		t.Errorf("a stranger: %d %s", a.status, a.raw)
	}
	for _, path := range []string{"/device/info", "/computer", "/mobile"} {
		if a := s.do("GET", "/api/v1/instances/"+s.instance+path, s.key, ""); a.status != 404 || a.code != "not_found" || !strings.Contains(a.text, "no computer") {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
}

// TestRuntimeCapabilitiesAreThoseOfTheInstance: a built-in agent can be started
// and equipped here, a machine of the owner's cannot; neither has operations.
func TestRuntimeCapabilitiesAreThoseOfTheInstance(t *testing.T) {
	s := start(t)
	hosted := s.deploy(`{"name":"x","systemPrompt":"one"}`).ID
	for id, want := range map[string]string{
		s.instance: `"capabilities":{"agents.lifecycle":false,"skills":false,"models":false,"cron":false,"mcp":false,"conversation.control":true}`,
		hosted:     `"capabilities":{"agents.lifecycle":true,"skills":false,"models":true,"cron":false,"mcp":true,"conversation.control":true}`,
	} {
		path := "/api/v1/instances/" + id
		a := s.do("GET", path+"/runtime-capabilities", s.key, "")
		if a.status != 200 || !strings.Contains(a.raw, want) || !strings.Contains(a.raw, `"methods":[]`) || !strings.Contains(a.raw, `"instanceId":"`+id+`"`) {
			t.Errorf("%d %s, want %s", a.status, a.raw, want)
		}
		if a := s.do("GET", path+"/runtime-capabilities", s.other, ""); a.status != 404 {
			t.Errorf("a stranger: %d %s", a.status, a.raw)
		}
		for route, method := range map[string]string{"": "GET", "/events": "GET", "/cancel": "POST"} {
			if a := s.do(method, path+"/operations/op-1"+route, s.key, ""); a.status != 404 || a.code != "not_found" || !strings.Contains(a.text, "no such operation") {
				t.Errorf("%s of one operation: %d %s", route, a.status, a.raw)
			}
		}
	}
}
