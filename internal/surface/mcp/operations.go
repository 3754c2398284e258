package mcp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/call"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
)

// unknownName is what the conventions of OpenTelemetry call a method or an error
// that is not one of those that exist: anybody can make those up.
const unknownName = "_OTHER"

// errorNames are the JSON-RPC numbers of our errors. An agent can answer with any
// number; what is not one of these is unknownName.
var errorNames = nameErrors(
	wire.NumberNoMethod, wire.NumberNoResource, wire.NumberHeaderMismatch, wire.NumberNoCapability, wire.NumberNoVersion,
	wire.NumberOf(beeos.InvalidJSON), wire.NumberOf(beeos.InvalidBody), wire.NumberOf(beeos.InvalidParam),
	wire.NumberOf(beeos.InternalError), wire.NumberOf(beeos.ServiceTimeout), http.StatusGatewayTimeout,
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusGone,
	http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable,
)

func nameErrors(numbers ...int) map[int]string {
	names := map[int]string{}
	for _, n := range numbers {
		names[n] = strconv.Itoa(n)
	}
	return names
}

// What follows is apart from the wait, like what is beside that of package call:
// what needs room on the stack there keeps it for as long as the wait takes.

//go:noinline
func (x *request) beginOperation() { x.began, x.ToolFailed = time.Now(), false }

//go:noinline
func (x *request) endOperation(method string, err error) {
	x.surface.opt.Answered(method, x.operationError(err), time.Since(x.began))
}

//go:noinline
func (x *request) refuseUnknown(method string) error {
	x.surface.opt.Answered(unknownName, errorNames[wire.NumberNoMethod], 0)
	return wire.MethodNotFound(method)
}

// operationError is the error.type of a request: "" = it went well.
func (x *request) operationError(err error) string {
	switch {
	case err == nil && x.ToolFailed:
		return "tool_error"
	case err == nil:
		return ""
	case x.HTTP.Context().Err() != nil, errors.Is(err, call.ErrClientReturns):
		return "client_left"
	}
	if name, ok := errorNames[wire.FaultOf(err).NumberFor(x.Version)]; ok {
		return name
	}
	return unknownName
}
