package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	r := newRig(t)
	for given, want := range map[string]string{
		`App`: "App", `<img src=x onerror=alert(1)>`: "<img src=x onerror=alert(1)>", "Claude\u202Eedualc": "Claudeedualc", "a\u0000b": "", "  a \n b\t": "a b", "\u200b\u2066": "app.example", "": "app.example",
		strings.Repeat("x", 10_000): strings.Repeat("x", 64) + "…",
	} {
		body, err := json.Marshal(map[string]any{"client_name": given, "redirect_uris": []string{"https://app.example/cb"}})
		r.must(err)
		status, answer := r.tryRegister(string(body))
		if want == "" { // NUL does not get through the edge at all
			if status != http.StatusBadRequest {
				t.Errorf("%q: %d", given, status)
			}
			continue
		}
		if answer["client_name"] != want {
			t.Errorf("%.40q is shown as %q", given, answer["client_name"])
		}
	}
}

func TestRegistration(t *testing.T) {
	r := newRig(t)
	body := `{"redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"client_secret_basic","grant_types":["implicit"],"software_id":"x"}`
	send := func(from, body string) (int, map[string]any, http.Header) {
		return post(r.s, "/oauth/register", "application/json", from, body)
	}
	for i := range registerMost {
		status, answer, h := send("203.0.113.7", body)
		if status != http.StatusCreated || answer["token_endpoint_auth_method"] != "none" || answer["client_secret"] != nil || !strings.HasPrefix(answer["client_id"].(string), clientPrefix) || h.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d: %d %v", i, status, answer)
		}
	}
	status, answer, h := send("203.0.113.7", body)
	if status != http.StatusTooManyRequests || h.Get("Retry-After") == "" || answer["error"] == nil {
		t.Errorf("the sixth: %d %v", status, answer)
	}
	if status, _, _ := send("203.0.113.8", body); status != http.StatusCreated {
		t.Errorf("from another address: %d", status)
	}
	r.pass(time.Minute)
	if status, _, _ := send("203.0.113.7", body); status != http.StatusCreated {
		t.Errorf("a minute later: %d", status)
	}
	if status, _, _ := send("203.0.113.9", `{"x":"`+strings.Repeat("a", 17<<10)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("17 KiB: %d", status)
	}
	for _, bad := range []string{``, `[]`, `{"redirect_uris":["https://a.example/b"],"REDIRECT_URIS":[]}`, `{"client_name":1,"redirect_uris":["https://a.example/b"]}`} {
		if status, answer := r.tryRegister(bad); status != http.StatusBadRequest || answer["error"] == nil {
			t.Errorf("%s: %d %v", bad, status, answer)
		}
	}
	if status, _, _ := post(r.s, "/oauth/register", "text/plain", "203.0.113.10", body); status != http.StatusBadRequest {
		t.Errorf("text/plain: %d", status)
	}

	// One that nobody uses is gone after a day; one in use is not.
	r.tokens(r.query(), "a")
	used := r.client
	r.client = r.register(callback)
	r.pass(unusedFor + time.Second)
	if !r.refused(r.query()) {
		t.Error("an unused registration lives on")
	}
	r.client = used
	r.begin(r.query())
	r.must(r.db.Grants.Prune(context.Background(), r.now()))
	r.begin(r.query())
}

func TestRegistrationsHaveACap(t *testing.T) {
	r := newRig(t)
	var rows []string
	for i := range clientsMost {
		rows = append(rows, fmt.Sprintf("('c%d', '', '[]', 0, 0)", i))
	}
	_, err := r.db.Exec("INSERT INTO oauth_clients (id, name, redirect_uris, created_at, expires_at) VALUES " + strings.Join(rows, ","))
	r.must(err)
	if status, answer := r.tryRegister(`{"redirect_uris":["https://app.example/cb"]}`); status != http.StatusServiceUnavailable || answer["error"] != "temporarily_unavailable" {
		t.Errorf("%d %v", status, answer)
	}
}
