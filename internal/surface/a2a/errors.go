package a2a

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// kind is one way to be refused, in the words of both bindings.
type kind struct {
	rpc    int    // JSON-RPC
	status int    // HTTP
	grpc   string // google.rpc.Code, which HTTP+JSON wants beside it
	reason string // google.rpc.ErrorInfo
}

// The protocol's own.
var (
	taskNotFound        = &kind{-32001, http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND"}
	taskNotCancelable   = &kind{-32002, http.StatusConflict, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"}
	unsupportedOp       = &kind{-32004, http.StatusBadRequest, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"}
	contentType         = &kind{-32005, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"}
	versionNotSupported = &kind{-32009, http.StatusBadRequest, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED"}
	parseError          = &kind{-32700, http.StatusBadRequest, "INVALID_ARGUMENT", "PARSE_ERROR"}
	invalidRequest      = &kind{-32600, http.StatusBadRequest, "INVALID_ARGUMENT", "INVALID_REQUEST"}
	methodNotFound      = &kind{-32601, http.StatusNotFound, "NOT_FOUND", "METHOD_NOT_FOUND"}
	invalidParams       = &kind{-32602, http.StatusBadRequest, "INVALID_ARGUMENT", "INVALID_PARAMS"}
	internalError       = &kind{-32603, http.StatusInternalServerError, "INTERNAL", "INTERNAL_ERROR"}
)

// kinds is the one table from our codes to A2A. Where the protocol has no
// number of its own, the HTTP status is the number: it explains itself.
var kinds = map[beeos.Code]*kind{
	beeos.InvalidJSON:             parseError,
	beeos.InvalidBody:             invalidRequest,
	beeos.InvalidParam:            invalidParams,
	beeos.MissingParam:            invalidParams,
	beeos.MissingToken:            {401, http.StatusUnauthorized, "UNAUTHENTICATED", "UNAUTHENTICATED"},
	beeos.Unauthorized:            {401, http.StatusUnauthorized, "UNAUTHENTICATED", "UNAUTHENTICATED"},
	beeos.InvalidToken:            {401, http.StatusUnauthorized, "UNAUTHENTICATED", "UNAUTHENTICATED"},
	beeos.Forbidden:               {403, http.StatusForbidden, "PERMISSION_DENIED", "UNAUTHORIZED"},
	beeos.AgentNotFound:           {404, http.StatusNotFound, "NOT_FOUND", "AGENT_NOT_FOUND"},
	beeos.NotFound:                taskNotFound,
	beeos.Conflict:                {409, http.StatusConflict, "ABORTED", "CONFLICT"},
	beeos.MessageTerminal:         unsupportedOp,
	beeos.PayloadTooLarge:         {413, http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT", "PAYLOAD_TOO_LARGE"},
	beeos.RateLimited:             {429, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "RATE_LIMITED"},
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
	kind    *kind
	message string
}

func (e *refusal) Error() string { return e.kind.reason + ": " + e.message }

func refuse(k *kind, format string, args ...any) error {
	return &refusal{k, fmt.Sprintf(format, args...)}
}

// fault is an error as a client sees it.
type fault struct {
	*kind
	message string
	public  *beeos.Error // nil with a refusal
}

func faultOf(err error) fault {
	var own *refusal
	if errors.As(err, &own) {
		return fault{own.kind, own.message, nil}
	}
	public := beeos.Public(err)
	k := kinds[public.Code]
	switch {
	case errors.Is(err, httpd.ErrMediaType):
		k = contentType
	case k == nil:
		k = internalError
	}
	return fault{k, public.Message, public}
}

// report leaves what is our fault for the log, cause and all; the client gets
// neither.
func (f fault) report(w http.ResponseWriter, r *http.Request, err error) {
	if f.status >= http.StatusInternalServerError {
		httpd.Report(r, err)
	}
	challenge(w, err)
	if f.public != nil {
		httpd.SetRetryAfter(w, f.public)
	}
}

// detail is a google.rpc.ErrorInfo.
type detail struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func (f fault) details() []detail {
	d := detail{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: f.reason, Domain: a2a.ProtocolDomain}
	if f.public != nil {
		d.Metadata = map[string]string{"code": string(f.public.Code)}
		if ms := f.public.RetryAfter.Milliseconds(); ms > 0 {
			d.Metadata["retryAfterMs"] = fmt.Sprint(ms)
		}
	}
	return []detail{d}
}

// rpcError is the error member of a JSON-RPC answer.
type rpcError struct {
	Code    int      `json:"code"`
	Message string   `json:"message"`
	Data    []detail `json:"data,omitempty"`
}

func (f fault) rpcError(d dialect) *rpcError {
	code := f.rpc
	if f.public != nil && d == legacy {
		if n, ok := early[f.public.Code]; ok {
			code = n
		}
	}
	return &rpcError{code, sentence(f.message), f.details()}
}

// restError is the body that HTTP+JSON refuses with.
type restError struct {
	Error struct {
		Code    int      `json:"code"`
		Status  string   `json:"status"`
		Message string   `json:"message"`
		Details []detail `json:"details"`
	} `json:"error"`
}

func (f fault) restError() (b restError) {
	b.Error.Code, b.Error.Status, b.Error.Message, b.Error.Details = f.status, f.grpc, sentence(f.message), f.details()
	return b
}

// sentence makes sure that there is something to read.
func sentence(s string) string {
	if strings.TrimSpace(s) == "" {
		return "the request was refused"
	}
	return s
}
