package rest_test

import (
	"strings"
	"testing"
	"time"
)

type keyJSON struct {
	ID, Kind, Name, Key string
	Prefix              string    `json:"key_prefix"`
	AgentID             string    `json:"agent_id"`
	Rate                int       `json:"rate_limit_per_minute"`
	ExpiresAt           time.Time `json:"expires_at"`
}

func TestCreateListAndRevokeUserKeys(t *testing.T) {
	s := start(t)
	expires := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	k := ok[keyJSON](s, "POST", "/api/v1/api-keys", `{"name":"ci","rate_limit_per_minute":7,"expires_at":"`+expires.Format(time.RFC3339)+`"}`)
	if !strings.HasPrefix(k.Key, "oag_") || len(k.Key) != 68 || k.Prefix != k.Key[:12] || k.Rate != 7 || !k.ExpiresAt.Equal(expires) {
		t.Errorf("created %+v", k)
	}
	list := s.do("GET", "/api/v1/api-keys", s.key, "")
	if strings.Contains(list.raw, k.Key) || !strings.Contains(list.raw, k.Prefix) {
		t.Errorf("list = %s", list.raw)
	}
	if a := s.do("GET", "/api/v1/agents", k.Key, ""); a.status != 200 {
		t.Errorf("the new key: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/api-keys/"+k.ID, s.other, ""); a.code != "not_found" {
		t.Errorf("a stranger's revoke: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/api-keys/"+k.ID, s.key, ""); a.status != 204 {
		t.Errorf("revoke: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", "/api/v1/agents", k.Key, ""); a.code != "invalid_token" {
		t.Errorf("the revoked key: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/api-keys/"+k.ID, s.key, ""); a.code != "not_found" {
		t.Errorf("second revoke: %d %s", a.status, a.raw)
	}
	if list := s.do("GET", "/api/v1/api-keys", s.key, ""); strings.Contains(list.raw, k.ID) {
		t.Errorf("the revoked key is listed: %s", list.raw)
	}
	if len(s.revoked) != 1 || s.revoked[0] != k.ID {
		t.Errorf("revocations announced: %v", s.revoked)
	}
	s.audited("key.create", k.ID)
	s.audited("key.revoke", k.ID)
}

func (s *stack) audited(action, subject string) {
	s.t.Helper()
	rows, err := s.db.Audit.List(s.t.Context(), s.user, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rows {
		if r.Action == action && r.Subject == subject && r.Actor == "user:"+s.user {
			return
		}
	}
	s.t.Errorf("no audit row %s %s in %+v", action, subject, rows)
}

func TestCreateListAndRevokeAgentKeys(t *testing.T) {
	s := start(t)
	path := "/api/v1/agents/" + s.agent + "/keys"
	var last keyJSON
	for range 3 {
		last = ok[keyJSON](s, "POST", path, `{"name":"k"}`)
	}
	if !strings.HasPrefix(last.Key, "bak_") || last.AgentID != s.agent {
		t.Errorf("created %+v", last)
	}
	if a := s.do("POST", path, s.key, `{"name":"k"}`); a.status != 409 || a.code != "conflict" {
		t.Errorf("the fourth key: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/api-keys/"+last.ID, s.key, ""); a.code != "not_found" {
		t.Errorf("an agent's key revoked as a user's: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", "/api/v1/agents/"+s.offline+"/keys/"+last.ID, s.key, ""); a.code != "not_found" {
		t.Errorf("revoked through another agent: %d %s", a.status, a.raw)
	}
	if a := s.do("DELETE", path+"/"+last.ID, s.key, ""); a.status != 204 {
		t.Errorf("revoke: %d %s", a.status, a.raw)
	}
	ok[keyJSON](s, "POST", path, `{"name":"k"}`)
	if n := len(ok[[]keyJSON](s, "GET", path, "")); n != 3 {
		t.Errorf("%d keys, want 3", n)
	}
}

func TestRefuseBadKeys(t *testing.T) {
	s := start(t)
	for body, code := range map[string]string{
		`{}`:          "missing_param",
		`{"name":""}`: "missing_param",
		`{"name":"` + strings.Repeat("n", 129) + `"}`:                          "invalid_param",
		`{"name":"x","rate_limit_per_minute":-1}`:                              "invalid_param",
		`{"name":"x","expires_at":"2020-01-01T00:00:00Z"}`:                     "invalid_param",
		`{"name":"x","expires_at":"tomorrow"}`:                                 "invalid_body",
		`{"name":"x","expiresAt":"2099-01-01T00:00:00Z"}`:                      "invalid_body",
		`{"name":"x","rate_limit_per_minute":1.5}`:                             "invalid_body",
		`{"name":"x","name":"y"}`:                                              "invalid_json",
		`{"name":"x"} {}`:                                                      "invalid_json",
		`{"name":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`: "invalid_json",
	} {
		if a := s.do("POST", "/api/v1/api-keys", s.key, body); a.status != 400 || a.code != code {
			t.Errorf("%.60s: %d %s, want %s", body, a.status, a.raw, code)
		}
	}
}

func TestJoinTokens(t *testing.T) {
	s := start(t)
	type token struct {
		Token     string
		ExpiresAt time.Time `json:"expires_at"`
	}
	tk := ok[token](s, "POST", "/api/v1/join-tokens", `{"ttl_seconds":60}`)
	if left := time.Until(tk.ExpiresAt); tk.Token == "" || left < 50*time.Second || left > 61*time.Second {
		t.Errorf("token = %+v", tk)
	}
	if owner, err := s.db.Instances.UseJoinToken(t.Context(), tk.Token); err != nil || owner != s.user {
		t.Errorf("used by %q: %v", owner, err)
	}
	if _, err := s.db.Instances.UseJoinToken(t.Context(), tk.Token); err == nil {
		t.Error("a join token works twice")
	}
	for _, body := range []string{`{"ttl_seconds":0}`, `{"ttl_seconds":99999999999999}`} {
		if a := s.do("POST", "/api/v1/join-tokens", s.key, body); a.code != "invalid_param" {
			t.Errorf("%s: %d %s", body, a.status, a.raw)
		}
	}
}
