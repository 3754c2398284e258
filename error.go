package beeos

import (
	"errors"
	"fmt"
	"time"
)

// Code is one word of the error vocabulary that every surface shares. The
// surfaces own the tables that turn it into HTTP statuses, JSON-RPC numbers
// and exit codes.
type Code string

const (
	InvalidJSON             Code = "invalid_json"
	InvalidBody             Code = "invalid_body"
	InvalidParam            Code = "invalid_param"
	MissingParam            Code = "missing_param"
	MissingToken            Code = "missing_token"
	Unauthorized            Code = "unauthorized"
	InvalidToken            Code = "invalid_token"
	Forbidden               Code = "forbidden"
	AgentNotFound           Code = "agent_not_found"
	NotFound                Code = "not_found"
	Conflict                Code = "conflict"
	ConfirmationRequired    Code = "confirmation_required"
	MessageTerminal         Code = "message_terminal"
	PayloadTooLarge         Code = "payload_too_large"
	LoginRejected           Code = "login_rejected"
	RateLimited             Code = "rate_limited"
	BudgetExceeded          Code = "budget_exceeded"
	InternalError           Code = "internal_error"
	AgentOffline            Code = "agent_offline"
	AgentServiceUnavailable Code = "agent_service_unavailable"
	ServiceTimeout          Code = "service_timeout"
)

// Error is an error for a person: Code to switch on, Message that says what
// to do, and Err, the cause, which only a log may show.
type Error struct {
	Code       Code
	Message    string
	Err        error
	RetryAfter time.Duration // with RateLimited and BudgetExceeded
	Stored     Stored        // with AgentServiceUnavailable, when the database went away in the middle of a call
}

// Stored is what became of a call whose caller gets no answer.
type Stored string

const (
	StoredYes     Stored = "yes"     // it goes on
	StoredNo      Stored = "no"      // it can be made again
	StoredUnknown Stored = "unknown" // the idempotency key tells: the same call under it finds out
)

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose whole text is for the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error for a person out of a cause that only the log may show.
func Wrap(code Code, err error, message string) *Error {
	return &Error{Code: code, Message: message, Err: err}
}

// CodeOf returns err's code; an error that is not ours is InternalError.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return InternalError
}

// Public returns the error that a caller may see: err itself when it is
// ours, otherwise a faceless internal error around it.
func Public(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: InternalError, Message: "something went wrong on our side; the server's log has the details under this request's id", Err: err}
}
