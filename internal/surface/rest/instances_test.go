package rest_test

import (
	"strings"
	"testing"
)

type instanceJSON struct {
	ID, Name, Status, Connectivity string
	Connection                     string `json:"msConnectionStatus"`
	Reason                         string `json:"connectivityReason"`
}

func TestListAndEndInstances(t *testing.T) {
	s := start(t)
	path := "/api/v1/instances/" + s.instance
	if got := ok[instanceJSON](s, "GET", path, ""); got.Status != "pending" || got.Connectivity != "unknown" || got.Reason != "instance_never_connected" {
		t.Errorf("before it connects: %+v", got)
	}
	leave, err := s.bus.Announce(s.instance)
	if err != nil {
		t.Fatal(err)
	}
	if got := ok[instanceJSON](s, "GET", path, ""); got.Status != "running" || got.Connectivity != "online" || got.Connection != "connected" {
		t.Errorf("connected: %+v", got)
	}
	for query, want := range map[string]int{
		"": 1, "?status=running": 1, "?status=stopped": 0, "?search=TES": 1, "?search=nothing": 0, "?page=1&pageSize=1": 1, "?page=2&pageSize=1": 0,
		"?agentFramework=beeos": 1, "?providerId=aws": 0, "?clusterId=x": 0,
	} {
		if got := ok[[]instanceJSON](s, "GET", "/api/v1/instances"+query, ""); len(got) != want {
			t.Errorf("%s: %+v", query, got)
		}
	}
	leave()
	for _, act := range []string{"start", "stop", "restart"} {
		if a := s.do("POST", path+"/"+act, s.key, ""); a.code != "conflict" || !strings.Contains(a.text, act) {
			t.Errorf("%s: %d %s", act, a.status, a.raw)
		}
	}
	if a := s.do("DELETE", path, s.key, ""); a.status != 200 {
		t.Errorf("destroy: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", path, s.key, ""); a.code != "not_found" {
		t.Errorf("destroyed: %d %s", a.status, a.raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.revoked) != 1 || s.revoked[0] != s.instance || len(s.changed) != 2 {
		t.Errorf("told: revoked %v, changed %v", s.revoked, s.changed)
	}
}

func TestListAuditByPage(t *testing.T) {
	s := start(t)
	for range 3 {
		ok[struct{}](s, "POST", "/api/v1/join-tokens", `{}`)
	}
	type page struct {
		Entries []struct{ ID, Action, Actor, Subject string }
		Next    string `json:"next_since"`
	}
	first := ok[page](s, "GET", "/api/v1/audit?limit=2", "")
	if len(first.Entries) != 2 || first.Next == "" || first.Entries[0].Action != "join_token.create" || first.Entries[0].Actor != "user:"+s.user {
		t.Errorf("first page %+v", first)
	}
	rest := ok[page](s, "GET", "/api/v1/audit?limit=2&since="+first.Next, "")
	if len(rest.Entries) != 1 || rest.Next != "" || rest.Entries[0].ID >= first.Entries[1].ID {
		t.Errorf("second page %+v", rest)
	}
	if a := s.do("GET", "/api/v1/audit", s.other, ""); strings.Contains(a.raw, "join_token") {
		t.Errorf("somebody else sees %s", a.raw)
	}
	if a := s.do("GET", "/api/v1/audit?since="+first.Next, s.other, ""); a.code != "invalid_param" {
		t.Errorf("somebody else's cursor: %d %s", a.status, a.raw)
	}
}
