package oauth

import (
	"net/http"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// oauthError is an error in the words of RFC 6749.
type oauthError struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Description }

func refusal(code, description string) *oauthError { return &oauthError{code, description} }

// fail answers with an error. No cache may keep it.
func fail(w http.ResponseWriter, r *http.Request, status int, code, description string) {
	send(w, status, refusal(code, description))
}

func send(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	httpd.WriteJSON(w, status, v)
}

// failWith answers with whatever went wrong: ours in the words of the
// protocol, a flood as such, and anything else as a fault of this server that
// only its log explains.
func failWith(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := err.(*oauthError); ok {
		fail(w, r, http.StatusBadRequest, e.Code, e.Description)
		return
	}
	public := beeos.Public(err)
	switch public.Code {
	case beeos.RateLimited:
		httpd.SetRetryAfter(w, public)
		fail(w, r, http.StatusTooManyRequests, "slow_down", public.Message)
	case beeos.AgentServiceUnavailable:
		w.Header().Set("Retry-After", "3600")
		fail(w, r, http.StatusServiceUnavailable, "temporarily_unavailable", public.Message)
	case beeos.PayloadTooLarge:
		fail(w, r, http.StatusRequestEntityTooLarge, "invalid_request", public.Message)
	case beeos.InternalError:
		httpd.Report(r, err)
		fail(w, r, http.StatusInternalServerError, "server_error", public.Message)
	default:
		fail(w, r, http.StatusBadRequest, "invalid_request", public.Message)
	}
}
