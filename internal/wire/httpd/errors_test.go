package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// The table of the contract, written out once more on purpose.
func TestEveryCodeHasItsStatus(t *testing.T) {
	tests := []struct {
		code   beeos.Code
		status int
		family string
	}{
		{"invalid_json", 400, "invalid_request_error"},
		{"invalid_body", 400, "invalid_request_error"},
		{"invalid_param", 400, "validation_error"},
		{"missing_param", 400, "validation_error"},
		{"missing_token", 401, "authentication_error"},
		{"unauthorized", 401, "authentication_error"},
		{"invalid_token", 401, "authentication_error"},
		{"forbidden", 403, "permission_error"},
		{"agent_not_found", 404, "not_found_error"},
		{"not_found", 404, "not_found_error"},
		{"conflict", 409, "conflict_error"},
		{"confirmation_required", 409, "conflict_error"},
		{"message_terminal", 410, "conflict_error"},
		{"payload_too_large", 413, "invalid_request_error"},
		{"login_rejected", 422, "authentication_error"},
		{"rate_limited", 429, "rate_limit_error"},
		{"budget_exceeded", 429, "rate_limit_error"},
		{"internal_error", 500, "api_error"},
		{"agent_offline", 503, "api_error"},
		{"agent_service_unavailable", 503, "api_error"},
		{"service_timeout", 504, "api_error"},
		{"a code nobody knows", 500, "api_error"},
	}
	for _, tt := range tests {
		if Status(tt.code) != tt.status || Family(tt.code) != tt.family {
			t.Errorf("%s: %d %s, want %d %s", tt.code, Status(tt.code), Family(tt.code), tt.status, tt.family)
		}
	}
	if len(tests)-1 != len(kinds) {
		t.Errorf("%d codes in the table, %d tested", len(kinds), len(tests)-1)
	}
}

func TestWriteError(t *testing.T) {
	tests := []struct {
		name       string
		err        error
		status     int
		body       string
		retryAfter string
	}{
		{
			"ours", beeos.Errorf(beeos.AgentNotFound, "no agent %q", "<x>"), 404,
			`{"success":false,"error":{"type":"not_found_error","code":"agent_not_found","message":"no agent \"<x>\"","details":{}}}`, "",
		},
		{
			"cause stays inside", beeos.Wrap(beeos.Conflict, errors.New("password=hunter2"), "try again"), 409,
			`{"success":false,"error":{"type":"conflict_error","code":"conflict","message":"try again","details":{}}}`, "",
		},
		{
			"wrapped", fmt.Errorf("handler: %w", beeos.Errorf(beeos.Forbidden, "not yours")), 403,
			`{"success":false,"error":{"type":"permission_error","code":"forbidden","message":"not yours","details":{}}}`, "",
		},
		{
			"rate", &beeos.Error{Code: beeos.RateLimited, Message: "slow down", RetryAfter: 1200 * time.Millisecond}, 429,
			`{"success":false,"error":{"type":"rate_limit_error","code":"rate_limited","message":"slow down","details":{}}}`, "2",
		},
		{
			"media type", beeos.Wrap(beeos.InvalidBody, ErrMediaType, "send JSON"), 415,
			`{"success":false,"error":{"type":"invalid_request_error","code":"invalid_body","message":"send JSON","details":{}}}`, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			WriteError(w, get("/"), tt.err)
			if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
				t.Errorf("%d %s\nwant %d %s", w.Code, w.Body, tt.status, tt.body)
			}
			if got := w.Header().Get("Retry-After"); got != tt.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, tt.retryAfter)
			}
			if got := w.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type %q", got)
			}
		})
	}
}

func TestWriteErrorHidesInternals(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, r, errors.New("dial 10.0.0.7: refused"))
	})}
	r := get("/")
	r.Header.Set("X-Request-Id", "req-7")
	w, log := serve(h, r)
	if w.Code != 500 || strings.Contains(w.Body.String(), "10.0.0.7") || !strings.Contains(w.Body.String(), `"request_id":"req-7"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if strings.Count(log, "10.0.0.7") != 1 || !strings.Contains(log, "req-7") {
		t.Errorf("log: %s", log)
	}
}

func TestWriteData(t *testing.T) {
	w := httptest.NewRecorder()
	WriteData(w, 201, map[string]string{"html": "<b>&"})
	if got := strings.TrimSpace(w.Body.String()); w.Code != 201 || got != `{"success":true,"data":{"html":"<b>&"}}` {
		t.Errorf("%d %s", w.Code, got)
	}
	if w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
		t.Errorf("Content-Length %s of %d", w.Header().Get("Content-Length"), w.Body.Len())
	}
}

func TestWriteJSONPanicsOnWhatIsNotJSON(t *testing.T) {
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { WriteData(w, 200, func() {}) })}
	if w, _ := serve(h, get("/")); w.Code != 500 || !strings.Contains(w.Body.String(), "internal_error") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that goes away is neither a fault nor worth a line.
func TestWriteErrorOfACancelledRequest(t *testing.T) {
	for _, err := range []error{context.Canceled, fmt.Errorf("wait: %w", context.Canceled), beeos.Wrap(beeos.InternalError, context.Canceled, "x")} {
		ctx, cancel := context.WithCancel(context.Background())
		h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			WriteError(w, r, err)
		})}
		w, log := serve(h, get("/").WithContext(ctx))
		if w.Code != 503 || log != "" {
			t.Errorf("%v: %d, log %q", err, w.Code, log)
		}
	}
	h := &Handler{Next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, context.Canceled) })}
	if w, log := serve(h, get("/")); w.Code != 500 || log == "" { // cancelled by nobody we know
		t.Errorf("%d, log %q", w.Code, log)
	}
}
