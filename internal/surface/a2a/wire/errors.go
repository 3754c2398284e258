package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// ErrorKind is one way to be refused, in the words of both bindings.
type ErrorKind struct {
	rpc    int    // JSON-RPC
	Status int    // HTTP
	grpc   string // google.rpc.Code, which HTTP+JSON wants beside it
	reason string // google.rpc.ErrorInfo
}

// What the protocol has a name for.
var (
	TaskNotFound            = &ErrorKind{-32001, http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND"}
	TaskNotCancelable       = &ErrorKind{-32002, http.StatusConflict, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"}
	UnsupportedOperation    = &ErrorKind{-32004, http.StatusBadRequest, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"}
	contentTypeNotSupported = &ErrorKind{-32005, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"}
	versionNotSupported     = &ErrorKind{-32009, http.StatusBadRequest, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED"}
	parseError              = &ErrorKind{-32700, http.StatusBadRequest, "INVALID_ARGUMENT", "PARSE_ERROR"}
	invalidRequest          = &ErrorKind{-32600, http.StatusBadRequest, "INVALID_ARGUMENT", "INVALID_REQUEST"}
	MethodNotFound          = &ErrorKind{-32601, http.StatusNotFound, "NOT_FOUND", "METHOD_NOT_FOUND"}
	invalidParams           = &ErrorKind{-32602, http.StatusBadRequest, "INVALID_ARGUMENT", "INVALID_PARAMS"}
	internalError           = &ErrorKind{-32603, http.StatusInternalServerError, "INTERNAL", "INTERNAL_ERROR"}
	unauthenticated         = &ErrorKind{401, http.StatusUnauthorized, "UNAUTHENTICATED", "UNAUTHENTICATED"}
)

// kinds is the one table from our codes to A2A. Where the protocol has no
// number of its own, the HTTP status is the number: it explains itself.
var kinds = map[beeos.Code]*ErrorKind{
	beeos.InvalidJSON:             parseError,
	beeos.InvalidBody:             invalidRequest,
	beeos.InvalidParam:            invalidParams,
	beeos.MissingParam:            invalidParams,
	beeos.MissingToken:            unauthenticated,
	beeos.Unauthorized:            unauthenticated,
	beeos.InvalidToken:            unauthenticated,
	beeos.Forbidden:               {403, http.StatusForbidden, "PERMISSION_DENIED", "UNAUTHORIZED"},
	beeos.AgentNotFound:           {404, http.StatusNotFound, "NOT_FOUND", "AGENT_NOT_FOUND"},
	beeos.NotFound:                TaskNotFound,
	beeos.Conflict:                {409, http.StatusConflict, "ABORTED", "CONFLICT"},
	beeos.MessageTerminal:         UnsupportedOperation,
	beeos.PayloadTooLarge:         {413, http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE"},
	beeos.RateLimited:             {429, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "RATE_LIMITED"},
	beeos.BudgetExceeded:          {429, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "BUDGET_EXCEEDED"},
	beeos.AgentOffline:            {503, http.StatusServiceUnavailable, "UNAVAILABLE", "AGENT_OFFLINE"},
	beeos.AgentServiceUnavailable: {503, http.StatusServiceUnavailable, "UNAVAILABLE", "AGENT_SERVICE_UNAVAILABLE"},
	beeos.ServiceTimeout:          {504, http.StatusGatewayTimeout, "DEADLINE_EXCEEDED", "SERVICE_TIMEOUT"},
	beeos.InternalError:           internalError,
}

// early are numbers that the first clients of ours were told, and that the
// protocol has since given to other things.
var early = map[beeos.Code]int{beeos.AgentOffline: -32002, beeos.ServiceTimeout: -32003}

// refusal is an error that only this protocol has a name for.
type refusal struct {
	kind    *ErrorKind
	message string
}

func (e *refusal) Error() string { return e.kind.reason + ": " + e.message }

// Refuse makes an error that only this protocol has a name for.
func Refuse(k *ErrorKind, format string, args ...any) error {
	return &refusal{k, fmt.Sprintf(format, args...)}
}

// Fault is an error as a client sees it.
type Fault struct {
	*ErrorKind
	message string
	public  *beeos.Error // nil with a refusal
}

// FaultOf returns what a client sees of an error.
func FaultOf(err error) Fault {
	var own *refusal
	if errors.As(err, &own) {
		return Fault{own.kind, own.message, nil}
	}
	public := beeos.Public(err)
	k := kinds[public.Code]
	switch {
	case errors.Is(err, httpd.ErrMediaType):
		k = contentTypeNotSupported
	case k == nil:
		k = internalError
	}
	return Fault{k, public.Message, public}
}

// PlainError is a refusal of the protocol's as an error of REST's.
func PlainError(err error) error {
	if f := FaultOf(err); f.public == nil {
		return beeos.Errorf(beeos.InvalidParam, "%s", f.message)
	}
	return err
}

// Report leaves what is our fault for the log, cause and all; the client gets
// neither, but headers that say what to do.
func (f Fault) Report(w http.ResponseWriter, r *http.Request, err error) {
	if f.Status >= http.StatusInternalServerError {
		httpd.Report(r, err)
	}
	CountRefusal(r, err)
	Challenge(w, err)
	if f.public != nil {
		httpd.SetRetryAfter(w, f.public)
		httpd.SetHelp(w, r, f.public.Code)
	}
}

// CountRefusal counts an error; a refusal of the protocol's has no code of ours,
// and is about what was asked for.
func CountRefusal(r *http.Request, err error) { httpd.CountRefusal(r, PlainError(err)) }

// Challenge tells a client that it needs a credential.
func Challenge(w http.ResponseWriter, err error) {
	if httpd.Status(beeos.CodeOf(err)) == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="A2A"`)
	}
}

// RPCStatus is the HTTP status of a JSON-RPC error. What answers a request that
// was understood comes with 200, as JSON-RPC clients expect; what the request's
// envelope or credential is to blame for comes with its own.
func (f Fault) RPCStatus(understood bool) int {
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusTooManyRequests:
		return f.Status
	}
	if !understood || f.ErrorKind == versionNotSupported {
		return f.Status
	}
	return http.StatusOK
}

// details are one google.rpc.ErrorInfo.
func (f Fault) details() []object {
	d := object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.reason, "domain": a2a.ProtocolDomain}
	if f.public != nil {
		metadata := map[string]string{"code": string(f.public.Code)}
		if ms := f.public.RetryAfter.Milliseconds(); ms > 0 {
			metadata["retryAfterMs"] = fmt.Sprint(ms)
		}
		if f.public.Stored != "" {
			metadata["stored"] = string(f.public.Stored)
		}
		d["metadata"] = metadata
	}
	return []object{d}
}

// RPCError is the error member of a JSON-RPC answer.
func (f Fault) RPCError(d Dialect) any {
	code := f.rpc
	if f.public != nil && d == Legacy {
		code = cmp.Or(early[f.public.Code], code)
	}
	return object{"code": code, "message": f.sentence(), "data": f.details()}
}

// RESTError is the body that HTTP+JSON refuses with. Clients of 0.3 look for the
// number of JSON-RPC beside it.
func (f Fault) RESTError(d Dialect) any {
	body := object{"error": object{"code": f.Status, "status": f.grpc, "message": f.sentence(), "details": f.details()}}
	if d == V03HTTP {
		body["code"], body["message"] = f.rpc, f.sentence()
	}
	return body
}

// sentence makes sure that there is something to read.
func (f Fault) sentence() string {
	return cmp.Or(strings.TrimSpace(f.message), "the request was refused")
}
