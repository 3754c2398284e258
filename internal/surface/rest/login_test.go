package rest_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
}

const loginBody = `{"email":"Ann@example.com","password":"correct horse battery"}`

// ann makes a person with a password.
func (s *stack) ann() beeos.User {
	s.t.Helper()
	token, _, err := s.users.Invite(s.t.Context(), "ann@example.com", false, "operator")
	if err != nil {
		s.t.Fatal(err)
	}
	u, err := s.users.AcceptLink(s.t.Context(), token, "Ann", "", "correct horse battery")
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

func (s *stack) tokens(path, body string) tokens {
	s.t.Helper()
	a := s.do("POST", path, "", body)
	var got tokens
	if err := json.Unmarshal(a.data, &got); err != nil || a.status != http.StatusOK || a.header.Get("Cache-Control") != "no-store" {
		s.t.Fatalf("%d %s %v", a.status, a.raw, err)
	}
	return got
}

func TestLogInAndRefresh(t *testing.T) {
	s := start(t)
	ann := s.ann()
	got := s.tokens("/api/v1/auth/login", loginBody)
	if got.Type != "Bearer" || got.Expires != 3600 || got.Access == "" || got.Refresh == "" {
		t.Errorf("%+v", got)
	}
	if a := s.do("POST", "/api/v1/api-keys", got.Access, `{"name":"ci"}`); a.status != http.StatusCreated {
		t.Errorf("with the token: %d %s", a.status, a.raw)
	}
	next := s.tokens("/api/v1/auth/refresh", `{"refresh_token":"`+got.Refresh+`"}`)
	if next.Refresh == got.Refresh {
		t.Error("the refresh token stays the same")
	}
	if a := s.do("GET", "/api/v1/api-keys", next.Access, ""); a.status != http.StatusOK || !strings.Contains(a.raw, `"ci"`) {
		t.Errorf("with the next token: %d %s", a.status, a.raw)
	}
	if err := s.users.EndSessions(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	if a := s.do("POST", "/api/v1/auth/refresh", "", `{"refresh_token":"`+next.Refresh+`"}`); a.status != http.StatusUnauthorized || a.code != "invalid_token" {
		t.Errorf("after signing out everywhere: %d %s", a.status, a.raw)
	}
	if a := s.do("GET", "/api/v1/api-keys", next.Access, ""); a.status != http.StatusUnauthorized {
		t.Errorf("and yet: %d %s", a.status, a.raw)
	}
}

func TestLogInRefusesBadCredentials(t *testing.T) {
	s := start(t)
	s.ann()
	for _, tt := range []struct {
		path, body, code string
		status           int
	}{
		{"login", `{"email":"ann@example.com","password":"wrong"}`, "login_rejected", 422},
		{"login", `{"email":"nobody@example.com","password":"wrong"}`, "login_rejected", 422},
		{"login", `{"email":"ann@example.com"}`, "missing_param", 400},
		{"login", `{"email":"ann@example.com","password":1}`, "invalid_body", 400},
		{"login", `{"email":"a","email":"b","password":"x"}`, "invalid_json", 400},
		{"login", `{"Email":"ann@example.com","password":"x"}`, "invalid_body", 400},
		{"login", `{`, "invalid_json", 400},
		{"refresh", `{}`, "missing_param", 400},
		{"refresh", `{"refresh_token":"x"}`, "invalid_token", 401},
	} {
		a := s.do("POST", "/api/v1/auth/"+tt.path, "", tt.body)
		if a.status != tt.status || a.code != tt.code {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, a.status, a.raw)
		}
		if strings.Contains(a.raw, "wrong") {
			t.Errorf("the answer shows the password: %s", a.raw)
		}
	}
	for range 4 {
		s.do("POST", "/api/v1/auth/login", "", `{"email":"ann@example.com","password":"wrong"}`)
	}
	a := s.do("POST", "/api/v1/auth/login", "", loginBody)
	wait, err := strconv.Atoi(a.header.Get("Retry-After"))
	if a.status != http.StatusTooManyRequests || a.code != "rate_limited" || err != nil || wait < 1 {
		t.Errorf("after five failures: %d %s, wait %d, %v", a.status, a.raw, wait, err)
	}
}
