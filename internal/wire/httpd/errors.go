package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

// ErrMediaType is wrapped by the InvalidBody error of a request whose
// Content-Type or Content-Encoding is not one we read. It answers 415.
var ErrMediaType = errors.New("unsupported media type")

// ErrMisdirected is wrapped by the NotFound error of a request that came to the
// wrong host: this is not the server of that name. It answers 421.
var ErrMisdirected = errors.New("misdirected request")

// kind is how REST shows a code: its HTTP status and the error family.
type kind struct {
	status int
	family string
}

// kinds is the one table from code to HTTP.
var kinds = map[beeos.Code]kind{
	beeos.InvalidJSON:             {http.StatusBadRequest, "invalid_request_error"},
	beeos.InvalidBody:             {http.StatusBadRequest, "invalid_request_error"},
	beeos.InvalidParam:            {http.StatusBadRequest, "validation_error"},
	beeos.MissingParam:            {http.StatusBadRequest, "validation_error"},
	beeos.MissingToken:            {http.StatusUnauthorized, "authentication_error"},
	beeos.Unauthorized:            {http.StatusUnauthorized, "authentication_error"},
	beeos.InvalidToken:            {http.StatusUnauthorized, "authentication_error"},
	beeos.Forbidden:               {http.StatusForbidden, "permission_error"},
	beeos.AgentNotFound:           {http.StatusNotFound, "not_found_error"},
	beeos.NotFound:                {http.StatusNotFound, "not_found_error"},
	beeos.Conflict:                {http.StatusConflict, "conflict_error"},
	beeos.ConfirmationRequired:    {http.StatusConflict, "conflict_error"},
	beeos.MessageTerminal:         {http.StatusGone, "conflict_error"},
	beeos.PayloadTooLarge:         {http.StatusRequestEntityTooLarge, "invalid_request_error"},
	beeos.LoginRejected:           {http.StatusUnprocessableEntity, "authentication_error"},
	beeos.RateLimited:             {http.StatusTooManyRequests, "rate_limit_error"},
	beeos.BudgetExceeded:          {http.StatusTooManyRequests, "rate_limit_error"},
	beeos.InternalError:           {http.StatusInternalServerError, "api_error"},
	beeos.AgentOffline:            {http.StatusServiceUnavailable, "api_error"},
	beeos.AgentServiceUnavailable: {http.StatusServiceUnavailable, "api_error"},
	beeos.ServiceTimeout:          {http.StatusGatewayTimeout, "api_error"},
}

// Status returns the HTTP status of a code; an unknown code is our fault.
func Status(code beeos.Code) int { return kindOf(code).status }

// Family returns the error type that stands beside a code in REST bodies.
func Family(code beeos.Code) string { return kindOf(code).family }

func kindOf(code beeos.Code) kind {
	if k, ok := kinds[code]; ok {
		return k
	}
	return kinds[beeos.InternalError]
}

// StatusOf returns the HTTP status of an error: that of its code, or 415 when
// the request's media type was the trouble, 421 when it was its host.
func StatusOf(err error) int {
	if errors.Is(err, ErrMisdirected) {
		return http.StatusMisdirectedRequest
	}
	if errors.Is(err, ErrMediaType) {
		return http.StatusUnsupportedMediaType
	}
	return Status(beeos.CodeOf(err))
}

type errorBody struct {
	Success bool        `json:"success"`
	Error   errorDetail `json:"error"`
}

type errorDetail struct {
	Type    string         `json:"type"`
	Code    beeos.Code     `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// WriteError answers with the error body of the contract. The cause inside
// err goes to the log, once, with the request id, and never to the caller.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if cancelled(r, err) && beeos.CodeOf(err) == beeos.InternalError {
		err = beeos.Wrap(beeos.AgentServiceUnavailable, err, "the request was given up because the server is stopping; send it again")
	}
	public := beeos.Public(err)
	if resp := responseOf(r.Context()); resp == nil || !resp.failed.Load() {
		CountRefusal(r, err)
	}
	status := StatusOf(err)
	body := errorBody{Error: errorDetail{
		Type: Family(public.Code), Code: public.Code, Message: public.Message, Details: map[string]any{},
	}}
	if status >= http.StatusInternalServerError {
		Report(r, err)
		if id := RequestID(r.Context()); id != "" {
			body.Error.Details["request_id"] = id
		}
	}
	if public.Stored != "" {
		body.Error.Details["stored"] = public.Stored
	}
	SetRetryAfter(w, public)
	SetHelp(w, r, public.Code)
	WriteJSON(w, status, body)
}

// SetHelp names in a header where the manual says what the code of an error means
// and what to do about it, so that the error itself stays short.
func SetHelp(w http.ResponseWriter, r *http.Request, code beeos.Code) {
	if resp := responseOf(r.Context()); resp != nil && resp.help != "" && code != "" {
		w.Header().Add("Link", "<"+resp.help+"#"+string(code)+`>; rel="help"`)
	}
}

// CountRefusal counts that a request is answered with an error: for surfaces that
// have a form of their own for it, or that call it by another name. WriteError
// does not count another one.
func CountRefusal(r *http.Request, err error) {
	resp := responseOf(r.Context())
	if resp == nil || resp.counts == nil {
		return
	}
	code := beeos.CodeOf(err)
	if _, known := kinds[code]; !known {
		code = beeos.InternalError
	}
	resp.failed.Store(true)
	resp.counts.Refused(string(code))
}

// cancelled reports whether err is no more than the end of the request: the
// client has gone, or we are shutting down.
func cancelled(r *http.Request, err error) bool {
	return errors.Is(err, context.Canceled) && r.Context().Err() != nil
}

// SetRetryAfter sets the Retry-After header when err has one, in whole
// seconds and never less than one.
func SetRetryAfter(w http.ResponseWriter, err *beeos.Error) {
	if err.RetryAfter > 0 {
		seconds := (err.RetryAfter + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
}

// Report leaves err for the request's one log line. Surfaces that write
// errors in a form of their own call it for every fault of ours.
func Report(r *http.Request, err error) {
	if resp := responseOf(r.Context()); resp != nil {
		resp.err = err
		return
	}
	slog.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
}
