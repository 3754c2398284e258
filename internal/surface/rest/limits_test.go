package rest_test

import "testing"

// TestOwnerLimitsCallsOfAnAgent: the limit holds for every credential that has
// none of its own.
func TestOwnerLimitsCallsOfAnAgent(t *testing.T) {
	s := start(t)
	s.echo()
	path := "/api/v1/agents/" + s.agent + "/limits"
	type limits struct {
		PerMinute int `json:"rate_limit_per_minute"`
	}
	if got := ok[limits](s, "GET", path, ""); got.PerMinute != 0 {
		t.Errorf("at first: %+v", got)
	}
	if got := ok[limits](s, "PATCH", path, `{"rate_limit_per_minute":1}`); got.PerMinute != 1 {
		t.Errorf("set: %+v", got)
	}
	s.calls.Forget(s.agent) // as the bus sees to
	s.audited("agent.update", s.agent)
	for i, want := range []int{200, 429} {
		if a := s.do("POST", s.invokePath(), s.key, `{"message":"x"}`); a.status != want {
			t.Errorf("call %d: %d %s", i, a.status, a.raw)
		}
	}
	own := ok[madeKey](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"k","rate_limit_per_minute":2}`)
	for i, want := range []int{200, 200, 429} {
		if a := s.do("POST", s.invokePath(), own.Key, `{"message":"x"}`); a.status != want {
			t.Errorf("call %d with a key of its own limit: %d %s", i, a.status, a.raw)
		}
	}
	for body, code := range map[string]string{`{}`: "missing_param", `{"rate_limit_per_minute":-5}`: "invalid_param", `{"rate_limit_per_minute":-1}`: "invalid_param", `{"rate_limit_per_minute":1000001}`: "invalid_param", `{"rate":1}`: "invalid_body"} {
		if a := s.do("PATCH", path, s.key, body); a.code != code {
			t.Errorf("%s: %d %s", body, a.status, a.raw)
		}
	}
	if a := s.do("PATCH", path, s.other, `{"rate_limit_per_minute":5}`); a.status != 404 {
		t.Errorf("a stranger: %d %s", a.status, a.raw)
	}
}

// TestOwnerLimitsAKeyLater: a key gets another limit after it was made, one of
// the person's and one of an agent's alike.
func TestOwnerLimitsAKeyLater(t *testing.T) {
	s := start(t)
	s.echo()
	for _, path := range []string{"/api/v1/api-keys", "/api/v1/agents/" + s.agent + "/keys"} {
		k := ok[keyJSON](s, "POST", path, `{"name":"ci"}`)
		if a := s.do("POST", s.invokePath(), k.Key, `{"message":"x"}`); a.status != 200 {
			t.Errorf("%s, a new key: %d %s", path, a.status, a.raw)
		}
		one := path + "/" + k.ID
		if got := ok[keyJSON](s, "PATCH", one, `{"rate_limit_per_minute":1}`); got.Rate != 1 || got.ID != k.ID || got.Key != "" {
			t.Errorf("%s, limited: %+v", path, got)
		}
		s.audited("key.update", k.ID)
		for i, want := range []int{200, 429} {
			if a := s.do("POST", s.invokePath(), k.Key, `{"message":"x"}`); a.status != want {
				t.Errorf("%s, call %d: %d %s", path, i, a.status, a.raw)
			}
		}
		if got := ok[keyJSON](s, "PATCH", one, `{"rate_limit_per_minute":0}`); got.Rate != 0 {
			t.Errorf("%s, back to the default: %+v", path, got)
		}
		if a := s.do("POST", s.invokePath(), k.Key, `{"message":"x"}`); a.status != 200 {
			t.Errorf("%s, the default: %d %s", path, a.status, a.raw)
		}
		for body, code := range map[string]string{`{}`: "missing_param", `{"rate_limit_per_minute":-1}`: "invalid_param", `{"rate_limit_per_minute":1000001}`: "invalid_param", `{"rate":1}`: "invalid_body"} {
			if a := s.do("PATCH", one, s.key, body); a.code != code {
				t.Errorf("%s, %s: %d %s", path, body, a.status, a.raw)
			}
		}
		if a := s.do("PATCH", one, s.other, `{"rate_limit_per_minute":5}`); a.status != 404 {
			t.Errorf("%s, a stranger: %d %s", path, a.status, a.raw)
		}
		if a := s.do("DELETE", one, s.key, ""); a.status != 204 {
			t.Errorf("%s, revoke: %d %s", path, a.status, a.raw)
		}
		if a := s.do("PATCH", one, s.key, `{"rate_limit_per_minute":5}`); a.code != "not_found" {
			t.Errorf("%s, a revoked key: %d %s", path, a.status, a.raw)
		}
	}
}
