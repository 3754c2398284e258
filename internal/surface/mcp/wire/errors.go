package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// codeNumbers are the codes that JSON-RPC has a number for; -32003 is documented
// as the reply timeout.
var codeNumbers = map[beeos.Code]int{
	beeos.InvalidJSON:    -32700,
	beeos.InvalidBody:    -32600,
	beeos.InvalidParam:   -32602,
	beeos.MissingParam:   -32602,
	beeos.InternalError:  -32603,
	beeos.ServiceTimeout: -32003,
}

// NumberOf is the JSON-RPC number of a code. Where JSON-RPC has none it is the
// HTTP status: that lies outside the ranges which MCP reserves, and explains
// itself.
func NumberOf(code beeos.Code) int { return cmp.Or(codeNumbers[code], httpd.Status(code)) }

// Numbers that belong to a condition rather than to a code.
const (
	NumberNoMethod       = -32601 // unknown method, and unknown tool as documented
	NumberNoResource     = -32002 // up to 2025-11-25
	NumberHeaderMismatch = -32020 // a header does not say what the body says
	NumberNoCapability   = -32021 // the client has not declared what the call needs
	NumberNoVersion      = -32022 // tells a newer client which revisions we speak
)

// Fault is an error in the words of JSON-RPC. Handlers return ordinary
// errors; one of them is a *Fault only where its number or its HTTP status
// is not the one that its code has everywhere.
type Fault struct {
	Err          *beeos.Error
	Number       int
	modernNumber int    // the number since 2026-07-28, where that is another one
	Status       int    // whatever the version; 0 = the version decides
	MoreData     []byte // more members of data, each after its comma
}

func (f *Fault) Error() string { return f.Err.Error() }

func (f *Fault) Unwrap() error { return f.Err }

// FaultOf turns any error into what a client may see.
func FaultOf(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	e := *beeos.Public(err)
	f = &Fault{Err: &e, Number: NumberOf(e.Code)}
	switch e.Code {
	case beeos.InvalidJSON, beeos.PayloadTooLarge,
		beeos.MissingToken, beeos.Unauthorized, beeos.InvalidToken, beeos.AgentNotFound:
		f.Status = httpd.Status(e.Code)
	case beeos.InvalidBody:
		f.Status = httpd.StatusOf(err) // 400, or 415
	case beeos.AgentOffline:
		e.Code = beeos.AgentServiceUnavailable // MCP has one word for both
	case beeos.ServiceTimeout:
		e.Message = "Agent reply timeout"
		f.modernNumber = http.StatusGatewayTimeout // the range of -32003 is closed to newcomers
	case beeos.AgentServiceUnavailable:
		if e.Stored != "" {
			f.MoreData = strconv.AppendQuote([]byte(`,"stored":`), string(e.Stored))
		}
	case beeos.RateLimited, beeos.BudgetExceeded:
		f.MoreData = strconv.AppendInt([]byte(`,"retry_after_ms":`), e.RetryAfter.Milliseconds(), 10)
	}
	return f
}

// WithStatus is an error that has this HTTP status in every revision.
func WithStatus(status int, err *beeos.Error) error {
	return &Fault{Err: err, Number: NumberOf(err.Code), Status: status}
}

// IsInternal reports whether the fault is one that we must look into.
func (f *Fault) IsInternal() bool { return f.Err.Code == beeos.InternalError && f.Err.Err != nil }

// httpStatus returns the HTTP status under which a client of version v gets f.
func (f *Fault) httpStatus(v Version) int {
	switch {
	case f.Status != 0:
		return f.Status
	case v.Stateless() && f.Number == NumberNoMethod && f.modernNumber == 0:
		return http.StatusNotFound
	case v.wantsHTTPStatus():
		return httpd.Status(f.Err.Code)
	}
	return http.StatusOK
}

// AppendResponse writes f as the error of the response to id.
func (f *Fault) AppendResponse(b, id []byte, v Version) []byte {
	b = AppendResponseHead(b, id)
	b = append(b, `,"error":`...)
	return append(f.AppendObject(b, v), '}')
}

// NumberFor is the JSON-RPC number that a client of version v gets.
func (f *Fault) NumberFor(v Version) int {
	if v.Stateless() && f.modernNumber != 0 {
		return f.modernNumber
	}
	return f.Number
}

// AppendObject writes f as an error object.
func (f *Fault) AppendObject(b []byte, v Version) []byte {
	number := f.NumberFor(v)
	return fmt.Appendf(b, `{"code":%d,"message":%s,"data":{"code":%s%s}}`, number, EncodeText(f.Err.Message), EncodeText(string(f.Err.Code)), f.MoreData)
}

// AppendResponseHead writes the beginning of a response. A message whose id
// could not be read is answered with null, as JSON-RPC has it.
func AppendResponseHead(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

func MethodNotFound(method string) error {
	return &Fault{Err: beeos.Errorf(beeos.NotFound, "Method not found: %.100s", method), Number: NumberNoMethod}
}

func ToolNotFound(name string) error { return notFound("Tool", NumberNoMethod, "tool", name) }

func ResourceNotFound(uri string) error { return notFound("Resource", NumberNoResource, "uri", uri) }

// notFound names what is missing in a member of data. Since 2026-07-28 its name
// is an invalid parameter.
func notFound(what string, number int, member, name string) error {
	return &Fault{
		Err:          beeos.Errorf(beeos.NotFound, "%s not found", what),
		Number:       number,
		modernNumber: NumberOf(beeos.InvalidParam),
		MoreData:     AppendMember(nil, member, name),
	}
}

func UnknownSession() error {
	return WithStatus(http.StatusNotFound, beeos.Errorf(beeos.NotFound, "unknown Mcp-Session-Id: start a new session with initialize"))
}

// MissingCapability names what the client would have to declare, as an object
// of the shape in which it declares.
func MissingCapability(c Capability) error {
	return badRequest(NumberNoCapability, `,"requiredCapabilities":`+cmp.Or(declarations[c], `{}`),
		"this needs a capability that the client has not declared: see data.requiredCapabilities")
}

func UnsupportedVersion(requested string) error {
	return badRequest(NumberNoVersion, `,"supported":`+SupportedVersions+`,"requested":`+string(EncodeText(requested)),
		"unsupported MCP-Protocol-Version: see data.supported")
}

func HeaderMismatch(format string, args ...any) error {
	return badRequest(NumberHeaderMismatch, "", "Header mismatch: "+format, args...)
}

func BadMeta(what string) error {
	return badRequest(NumberOf(beeos.InvalidParam), "", "params._meta: %s", what)
}

// badRequest is a parameter that is wrong in a way which has its own number.
func badRequest(number int, moreData, format string, args ...any) error {
	return &Fault{Err: beeos.Errorf(beeos.InvalidParam, format, args...), Number: number, Status: http.StatusBadRequest, MoreData: []byte(moreData)}
}
