// Package protocol is what the parts of the authorization server say alike:
// errors in the words of RFC 6749, answers that no cache keeps, and the names of
// what a token can be for (resource.go).
package protocol

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// Error is an error in the words of RFC 6749.
type Error struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func (e *Error) Error() string { return e.Code + ": " + e.Description }

// Refuse returns an error with one of the protocol's codes.
func Refuse(code, description string) *Error { return &Error{code, description} }

// Fail answers with an error. No cache may keep it.
func Fail(w http.ResponseWriter, status int, code, description string) {
	Send(w, status, Refuse(code, description))
}

// Send answers with JSON that no cache may keep.
func Send(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	httpd.WriteJSON(w, status, v)
}

// Answer answers with v, or with what went wrong: ours in the words of the
// protocol, a flood as such, and anything else as a fault of this server that
// only its log explains.
func Answer(w http.ResponseWriter, r *http.Request, status int, v any, err error) {
	if err == nil {
		Send(w, status, v)
		return
	}
	if e, ok := err.(*Error); ok {
		refused := http.StatusBadRequest
		if e.Code == "invalid_client" && r.Header.Get("Authorization") != "" { // RFC 6749, 5.2
			w.Header().Set("WWW-Authenticate", `Basic realm="BeeOS"`)
			refused = http.StatusUnauthorized
		}
		Fail(w, refused, e.Code, e.Description)
		return
	}
	public := beeos.Public(err)
	switch public.Code {
	case beeos.RateLimited:
		httpd.SetRetryAfter(w, public)
		Fail(w, http.StatusTooManyRequests, "slow_down", public.Message)
	case beeos.AgentServiceUnavailable:
		w.Header().Set("Retry-After", "3600")
		httpd.SetRetryAfter(w, public) // a database that is away comes back sooner
		Fail(w, http.StatusServiceUnavailable, "temporarily_unavailable", public.Message)
	case beeos.PayloadTooLarge:
		Fail(w, http.StatusRequestEntityTooLarge, "invalid_request", public.Message)
	case beeos.InternalError:
		httpd.Report(r, err)
		Fail(w, http.StatusInternalServerError, "server_error", public.Message)
	default:
		Fail(w, http.StatusBadRequest, "invalid_request", public.Message)
	}
}
