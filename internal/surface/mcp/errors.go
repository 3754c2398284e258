package mcp

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// codeNumbers is the one table from error code to JSON-RPC number. JSON-RPC's own
// numbers stand for what JSON-RPC has a word for, -32003 is documented as the
// reply timeout, and every other code is its plain HTTP number: that lies
// outside the ranges which MCP reserves, and explains itself.
var codeNumbers = map[beeos.Code]int{
	beeos.InvalidJSON:             -32700,
	beeos.InvalidBody:             -32600,
	beeos.InvalidParam:            -32602,
	beeos.MissingParam:            -32602,
	beeos.MissingToken:            401,
	beeos.Unauthorized:            401,
	beeos.InvalidToken:            401,
	beeos.Forbidden:               403,
	beeos.AgentNotFound:           404,
	beeos.NotFound:                404,
	beeos.Conflict:                409,
	beeos.MessageTerminal:         410,
	beeos.PayloadTooLarge:         413,
	beeos.LoginRejected:           422,
	beeos.RateLimited:             429,
	beeos.InternalError:           -32603,
	beeos.AgentOffline:            503,
	beeos.AgentServiceUnavailable: 503,
	beeos.ServiceTimeout:          -32003,
}

// Numbers that belong to a condition rather than to a code.
const (
	numberNoMethod       = -32601 // unknown method, and unknown tool as documented
	numberNoResource     = -32002 // up to 2025-11-25
	numberHeaderMismatch = -32020 // a header does not say what the body says
	numberNoCapability   = -32021 // the client has not declared what the call needs
	numberNoVersion      = -32022 // tells a newer client which revisions we speak
)

// fault is an error in the words of JSON-RPC. Handlers return ordinary
// errors; one of them is a *fault only where its number or its HTTP status
// is not the one that its code has everywhere.
type fault struct {
	err          *beeos.Error
	number       int
	modernNumber int    // the number since 2026-07-28, where that is another one
	status       int    // whatever the version; 0 = the version decides
	moreData     []byte // more members of data, each after its comma
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// faultOf turns any error into what a client may see.
func faultOf(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	e := *beeos.Public(err)
	f = &fault{err: &e, number: codeNumbers[e.Code]}
	switch e.Code {
	case beeos.InvalidJSON, beeos.PayloadTooLarge,
		beeos.MissingToken, beeos.Unauthorized, beeos.InvalidToken, beeos.AgentNotFound:
		f.status = httpd.Status(e.Code)
	case beeos.InvalidBody:
		f.status = httpd.StatusOf(err) // 400, or 415
	case beeos.AgentOffline:
		e.Code = beeos.AgentServiceUnavailable // MCP has one word for both
	case beeos.ServiceTimeout:
		e.Message = "Agent reply timeout"
		f.modernNumber = http.StatusGatewayTimeout // the range of -32003 is closed to newcomers
	case beeos.RateLimited:
		f.moreData = strconv.AppendInt([]byte(`,"retry_after_ms":`), e.RetryAfter.Milliseconds(), 10)
	}
	return f
}

// withStatus is an error that has this HTTP status in every revision.
func withStatus(status int, err *beeos.Error) error {
	return &fault{err: err, number: codeNumbers[err.Code], status: status}
}

// isInternal reports whether the fault is one that we must look into.
func (f *fault) isInternal() bool { return f.err.Code == beeos.InternalError && f.err.Err != nil }

// httpStatus returns the HTTP status under which a client of version v gets f.
func (f *fault) httpStatus(v version) int {
	switch {
	case f.status != 0:
		return f.status
	case v.stateless() && f.number == numberNoMethod && f.modernNumber == 0:
		return http.StatusNotFound
	case v.wantsHTTPStatus():
		return httpd.Status(f.err.Code)
	}
	return http.StatusOK
}

// appendResponse writes f as the error of the response to id.
func (f *fault) appendResponse(b, id []byte, v version) []byte {
	b = appendResponseHead(b, id)
	b = append(b, `,"error":`...)
	return append(f.appendObject(b, v), '}')
}

// appendObject writes f as an error object.
func (f *fault) appendObject(b []byte, v version) []byte {
	number := f.number
	if v.stateless() && f.modernNumber != 0 {
		number = f.modernNumber
	}
	b = strconv.AppendInt(append(b, `{"code":`...), int64(number), 10)
	b = append(b, `,"message":`...)
	b = appendText(b, f.err.Message)
	b = append(b, `,"data":{"code":`...)
	b = appendText(b, string(f.err.Code))
	b = append(b, f.moreData...)
	return append(b, `}}`...)
}

// appendResponseHead writes the beginning of a response. A message whose id could not
// be read is answered with null, as JSON-RPC has it.
func appendResponseHead(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

func methodNotFound(method string) error {
	return &fault{err: beeos.Errorf(beeos.NotFound, "Method not found: %.100s", method), number: numberNoMethod}
}

func toolNotFound(name string) error {
	return &fault{
		err:          beeos.Errorf(beeos.NotFound, "Tool not found"),
		number:       numberNoMethod,
		modernNumber: codeNumbers[beeos.InvalidParam],
		moreData:     appendText([]byte(`,"tool":`), name),
	}
}

func resourceNotFound(uri string) error {
	return &fault{
		err:          beeos.Errorf(beeos.NotFound, "Resource not found"),
		number:       numberNoResource,
		modernNumber: codeNumbers[beeos.InvalidParam],
		moreData:     appendText([]byte(`,"uri":`), uri),
	}
}

func unknownSession() error {
	return withStatus(http.StatusNotFound, beeos.Errorf(beeos.NotFound, "unknown Mcp-Session-Id: start a new session with initialize"))
}

// missingCapability names what the client would have to declare, as an object
// of the shape in which it declares.
func missingCapability(required string) error {
	return &fault{
		err:      beeos.Errorf(beeos.InvalidParam, "this needs a capability that the client has not declared: see data.requiredCapabilities"),
		number:   numberNoCapability,
		status:   http.StatusBadRequest,
		moreData: append([]byte(`,"requiredCapabilities":`), required...),
	}
}

func unsupportedVersion(requested string) error {
	extra := append([]byte(`,"supported":`), supportedVersions...)
	extra = append(extra, `,"requested":`...)
	return &fault{
		err:      beeos.Errorf(beeos.InvalidParam, "unsupported MCP-Protocol-Version: see data.supported"),
		number:   numberNoVersion,
		status:   http.StatusBadRequest,
		moreData: appendText(extra, requested),
	}
}

func headerMismatch(format string, args ...any) error {
	return &fault{
		err:    beeos.Errorf(beeos.InvalidParam, "Header mismatch: "+format, args...),
		number: numberHeaderMismatch,
		status: http.StatusBadRequest,
	}
}

func badMeta(what string) error {
	return withStatus(http.StatusBadRequest, beeos.Errorf(beeos.InvalidParam, "params._meta: %s", what))
}
